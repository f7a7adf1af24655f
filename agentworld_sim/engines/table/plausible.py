"""Random choices that are the same in every process and release: hashes of where they are made."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentworld_sim.engines.table import times
from agentworld_sim.engines.table.words import snake

T = TypeVar("T")


class SeededRandom:
    """A source of choices. Each choice is named, so that it does not depend on those before it."""

    __slots__ = ("_where",)

    def __init__(self, *where: object) -> None:
        self._where = "\n".join(map(str, where))

    def derive(self, *where: object) -> SeededRandom:
        """A source of its own."""
        return SeededRandom(self._where, *where)

    def number(self, name: object = "") -> int:
        """64 random bits."""
        text = f"{self._where}\n{name}".encode(errors="surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())

    def below(self, limit: int, name: object = "") -> int:
        """A number from 0 to `limit` - 1."""
        return self.number(name) % limit

    def one_of(self, values: Sequence[T], name: object = "") -> T:
        """One of `values`."""
        return values[self.below(len(values), name)]

    def uuid(self, name: object = "") -> str:
        """A version 4 UUID."""
        high, low = self.number((name, "high")), self.number((name, "low"))
        return str(uuid.UUID(int=high << 64 | low, version=4))

    def hex(self, digits: int, name: object = "") -> str:
        """So many hexadecimal digits."""
        parts = [f"{self.number((name, part)):016x}" for part in range(digits // 16 + 1)]
        return "".join(parts)[:digits]


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


PEOPLE = frozenset(
    "user users member members person people author authors assignee assignees owner customer customers"
    " employee employees contact contacts reporter reviewer creator sender recipient student teacher"
    " patient account attendee guest agent manager".split()
)

_DAY_US = 86_400_000_000
_YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class FieldContext:
    """What a value is for."""

    draw: SeededRandom
    """Of the whole record: fields that say the same of somebody agree."""
    name: str
    """The field's."""
    about: str
    """What the record or the object around it is: `users`, `assignee`."""
    clock_us: int
    """The world's time; a made-up moment is before it."""
    path: str = ""
    """The field's place in the record."""

    @property
    def own(self) -> SeededRandom:
        """For choices of this field alone."""
        return self.draw.derive(self.path or self.name)


def creation_time_us(draw: SeededRandom, clock_us: int) -> int:
    """When a record was made: in the months before the world's day."""
    day = clock_us // _DAY_US * _DAY_US
    made = day - (1 + draw.below(120, "days ago")) * _DAY_US
    return made + draw.below(_DAY_US // 1_000_000, "second") * 1_000_000


def moment_us(place: FieldContext) -> int:
    """When something of a record was: it was made before it was changed, and both before today."""
    day = place.clock_us // _DAY_US * _DAY_US
    made = creation_time_us(place.draw, place.clock_us)
    name = snake(place.name)
    if name in times.MADE:
        return made
    later = place.own.below(max((day - made) // 1_000_000, 1), "later") * 1_000_000
    if name.startswith(("due", "deadline", "end", "expir", "until", "next", "start")):
        return day + (1 + place.own.below(60, "days ahead")) * _DAY_US
    if name.startswith(("birth", "dob")):
        return day - (20 * _YEAR_DAYS + place.own.below(40 * _YEAR_DAYS, "birth")) * _DAY_US
    return made + later


def text(place: FieldContext, style: str = "") -> str:
    """A text for a field; `style` is the schema's `format`, if it has one."""
    maker = _FORMATS.get(style)
    if maker is not None:
        return maker(place)
    name = snake(place.name)
    tokens = name.split("_")
    for pattern, make in _TEXTS:
        if pattern.fullmatch(name):
            return make(place)
    if tokens[-1] == "name":
        return _thing_name(place)
    if times.is_moment(place.name):
        return str(times.format_moment(moment_us(place), place.name, {"type": "string"}))
    return _words(place)


_NUMBERS: tuple[tuple[str, Callable[[SeededRandom], float]], ...] = (
    (
        "price amount total cost balance fee salary budget subtotal",
        lambda own: 5 + own.below(49_500) / 100,
    ),
    ("latitude lat", lambda own: own.below(120_000) / 1000 - 60),
    ("longitude lon lng", lambda own: own.below(360_000) / 1000 - 180),
    ("rating score stars", lambda own: 1 + own.below(5)),
    ("percent percentage progress", lambda own: own.below(101)),
    ("ratio rate probability confidence", lambda own: own.below(100) / 100),
    ("year", lambda own: 2015 + own.below(10)),
    ("age", lambda own: 20 + own.below(50)),
    ("priority severity urgency impact level rank", lambda own: 1 + own.below(4)),
    ("size bytes", lambda own: 100 + own.below(50_000)),
)
"""The first that has a word of a field's name makes its number."""


def number(place: FieldContext) -> float:
    """A number for a field, with two decimals where that is usual."""
    tokens = set(snake(place.name).split("_"))
    if times.is_moment(place.name):
        return moment_us(place) // 1_000_000
    for words, make in _NUMBERS:
        if tokens & set(words.split()):
            return make(place.own)
    return 1 + place.own.below(40)


def slug(text: str) -> str:
    """`Fix the login` → `fix-the-login`."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-")


def _person(place: FieldContext) -> tuple[str, str]:
    # An object of its own (an assignee) is somebody else than the record's.
    whom = place.draw.derive(place.about)
    return whom.one_of(FIRST_NAMES, "first"), whom.one_of(LAST_NAMES, "last")


def _full_name(place: FieldContext) -> str:
    return " ".join(_person(place))


def _login(place: FieldContext) -> str:
    first, last = _person(place)
    return f"{first[0]}{last}".lower()


def _email(place: FieldContext) -> str:
    first, last = _person(place)
    return f"{first}.{last}@example.com".lower()


def _thing_name(place: FieldContext) -> str:
    around = set(snake(place.about).split("_"))
    mine = set(snake(place.name).split("_"))
    if (around | mine) & PEOPLE:
        return _full_name(place)
    if (around | mine) & {"company", "companies", "organization", "organizations", "customer"}:
        return place.own.one_of(COMPANIES)
    if (around | mine) & {"label", "labels", "tag", "tags", "category", "categories"}:
        return place.own.one_of(TAGS)
    if (around | mine) & {"file", "files"}:
        return place.own.one_of(FILES).rpartition("/")[2]
    return place.own.one_of(THINGS)


def _title(place: FieldContext) -> str:
    return place.draw.one_of(TITLES, "title")


def _body(place: FieldContext) -> str:
    first = place.own.one_of(SENTENCES, "first")
    second = place.own.one_of(SENTENCES, "second")
    return first if first == second else f"{first} {second}"


def _url(place: FieldContext) -> str:
    about = slug(snake(place.about)) or "items"
    return f"https://example.com/{about}/{place.draw.hex(8, 'url')}"


def _words(place: FieldContext) -> str:
    return f"{place.own.one_of(WORDS, 'first')} {place.own.one_of(THINGS, 'second').lower()}"


def _time(kind: str) -> Callable[[FieldContext], str]:
    schema: Mapping[str, Any] = {"type": "string", "format": kind}
    return lambda place: str(times.format_moment(moment_us(place), place.name, schema))


_FORMATS: Mapping[str, Callable[[FieldContext], str]] = {
    "date-time": _time("date-time"),
    "date": _time("date"),
    "time": _time("time"),
    "duration": lambda place: f"PT{1 + place.own.below(59)}M",
    "email": _email,
    "hostname": lambda place: f"{place.own.one_of(WORDS)}.example.com",
    "ipv4": lambda place: f"192.0.2.{1 + place.own.below(254)}",
    "ipv6": lambda place: f"2001:db8::{1 + place.own.below(65534):x}",
    "uri": _url,
    "url": _url,
    "uri-reference": _url,
    "uuid": lambda place: place.own.uuid(),
}
"""By the schema's `format`; example.com and the addresses are those reserved for documentation
(RFC 2606, RFC 5737, RFC 3849)."""


def _rule(
    pattern: str, make: Callable[[FieldContext], str] | Sequence[str]
) -> tuple[re.Pattern[str], Callable[[FieldContext], str]]:
    """What makes the text of fields with such names; of several texts one is chosen."""
    if callable(make):
        return re.compile(pattern), make
    return re.compile(pattern), lambda place: place.own.one_of(make)


_TEXTS = (
    _rule(r"(.*_)?e?mail(_address)?", _email),
    _rule(r"(.*_)?(url|uri|link|href|homepage|website|avatar|permalink|webhook)", _url),
    _rule(r"(first|given)_name|firstname", lambda place: _person(place)[0]),
    _rule(r"(last|family|sur)_?name", lambda place: _person(place)[1]),
    _rule(r"full_name|(person|customer|contact|user|author|owner|member)_name", _full_name),
    _rule(r"(user_?name|login|handle|nick(name)?|screen_name)", _login),
    _rule(
        r"(author|assignee|owner|creator|reporter|created_by|updated_by|assigned_to|sender|reviewer"
        r"|requester|from_user|to_user)",
        lambda place: _login(FieldContext(place.draw, place.name, place.path, place.clock_us)),
    ),
    _rule(r"(.*_)?(title|subject|summary|headline|topic|task)", _title),
    _rule(
        r"(.*_)?(description|body|content|contents|text|message|note|notes|comment|details|bio|about"
        r"|reason|excerpt|abstract)",
        _body,
    ),
    _rule(
        r"(.*_)?phone(_number)?|mobile|fax", lambda place: f"+1-202-555-01{place.own.below(100):02}"
    ),
    _rule(r"(.*_)?city|location", CITIES),
    _rule(r"(.*_)?country(_name)?", COUNTRIES),
    _rule(r"country_code", ("PT", "NO", "JP", "KE", "CA")),
    _rule(
        r"(.*_)?(street|address(_line_?1)?)",
        lambda place: f"{1 + place.own.below(98)} {place.own.one_of(STREETS, 'street')}",
    ),
    _rule(r"(.*_)?(zip|postal|post)_?(code)?", lambda place: f"{10000 + place.own.below(89999)}"),
    _rule(r"(.*_)?(company|organi[sz]ation|org|employer|team|workspace|vendor)(_name)?", COMPANIES),
    _rule(r"(.*_)?colou?r", COLORS),
    _rule(r"(.*_)?currency(_code)?", ("EUR", "USD", "GBP", "JPY")),
    _rule(r"(.*_)?(lang(uage)?|locale)", ("en", "de", "fr", "pt")),
    _rule(r"time_?zone|tz", ("UTC",)),
    _rule(r"(.*_)?(status|state)", STATES),
    _rule(r"(due|deadline|start|end|expires|expiry|until|reminder)(_on|_day)?", _time("date")),
    _rule(r"(.*_)?(priority|severity|urgency|impact)", ("low", "medium", "high")),
    _rule(r"(.*_)?(tags?|labels?|category|topics?)", TAGS),
    _rule(r"(.*_)?(path|file|file_?path)", FILES),
    _rule(r"file_?name", [file.rpartition("/")[2] for file in FILES]),
    _rule(r"(.*_)?branch", ("main", "develop", "release")),
    _rule(r"(.*_)?(sha|commit|hash|digest|checksum|etag)", lambda place: place.own.hex(40)),
    _rule(r"(.*_)?(uuid|guid)", lambda place: place.own.uuid()),
    _rule(
        r"(.*_)?version", lambda place: f"{1 + place.own.below(4)}.{place.own.below(10, 'minor')}.0"
    ),
    _rule(r"(.*_)?slug", lambda place: slug(_title(place))),
    _rule(r"(.*_)?id", lambda place: place.own.hex(8)),
    _rule(r"mime_?type|content_type", ("text/plain",)),
    _rule(r"(repo|repository|project)(_name)?", [one.lower() for one in THINGS]),
    _rule(r"(price|amount|total|cost|balance|fee)", lambda place: f"{number(place):.2f}"),
)
"""The first that fits a field's name in snake case makes its text."""
