"""Words for values that are made up. All of it is invented here."""

from __future__ import annotations

FIRST_NAMES = (
    "Ada Amir Anna Ben Carla Chen Dana Diego Elif Emma Farah Felix Grace Hana Hugo Ines Ivan Jana Jonas"
    " Kofi Lena Lucas Maya Milan Nadia Noah Olga Omar Priya Rosa Samir Sofia Tomas Uma Vera Yuki"
).split()

LAST_NAMES = (
    "Adler Berg Castro Diaz Ekman Fischer Garcia Haddad Ito Jensen Kaya Lind Moreau Novak Okafor Park"
    " Quist Rossi Silva Tanaka Urban Varga Weber Xu Yilmaz Zhang"
).split()

TITLES = (
    "Fix the login timeout",
    "Update the onboarding guide",
    "Review the quarterly budget",
    "Add export to CSV",
    "Search is slow on large projects",
    "Prepare the release notes",
    "Replace the old logo",
    "Plan the spring workshop",
    "Clean up unused settings",
    "Answer open questions from support",
    "Rename the staging server",
    "Collect feedback on the new menu",
    "Check the backup schedule",
    "Document the import format",
    "Remove duplicate entries",
    "Translate the welcome message",
)

SENTENCES = (
    "This came up again in the last review.",
    "Two teams have asked for it since spring.",
    "The steps to see it are in the comments.",
    "It should be finished before the next release.",
    "Nothing else depends on it.",
    "We agreed on the short version.",
    "The details are in the shared notes.",
    "It works on the first try and fails on the second.",
    "Please look at it when there is time.",
    "The old behaviour stays available for a while.",
)

THINGS = (
    "Atlas Beacon Cedar Delta Ember Falcon Grove Harbor Indigo Juniper Kestrel Lumen Meadow Nimbus"
    " Orchard Pioneer Quarry Ridge Summit Tundra Umbra Valley Willow Zephyr"
).split()

COMPANIES = tuple(
    f"{name} {kind}"
    for name in ("Northwind", "Bluebird", "Stonebridge", "Fairfield", "Riverton", "Oakley")
    for kind in ("Labs", "Group", "Works")
)

TAGS = "urgent design backend docs planning research billing mobile cleanup feedback".split()

STATES = ("open", "in_progress", "done")

CITIES = "Lisbon Oslo Kyoto Nairobi Toronto Porto Ghent Leipzig Tampere Cusco Hobart Izmir".split()

COUNTRIES = "Portugal Norway Japan Kenya Canada Belgium Germany Finland Peru Turkey".split()

STREETS = ("Harbour Street", "Mill Lane", "Station Road", "Garden Row", "Hill Avenue", "Park Way")

COLORS = "blue green red orange purple teal gray yellow".split()

FILES = ("docs/guide.md", "src/main.py", "README.md", "config/settings.yaml", "notes/plan.txt")

WORDS = (
    "amber brook cobalt dune elm fern glade heron iris jade kelp lark moss nova opal pine".split()
)
