"""The guide's site and scenario."""

from __future__ import annotations

from pathlib import Path

from agentworld_sim import Scenario, World
from agentworld_sim.goals import check_goals
from tests.sites.test_forum_in_a_browser import Browser

DOCS = Path(__file__).parents[2] / "docs"
SNIPPETS = DOCS / "snippets/sites"


def test_the_guide_shows_its_files_as_they_are() -> None:
    guide = (DOCS / "guides/sites.md").read_text("utf-8")
    for file in SNIPPETS.iterdir():
        assert f"```yaml\n{file.read_text('utf-8')}```" in guide, file.name


async def test_the_guides_task_can_be_done() -> None:
    world = await World.create(Scenario.load(SNIPPETS / "guestbook-world.yaml"))
    assert [one.met for one in await check_goals(world)] == [False, False, True]
    browser = Browser(world)
    await browser.call("navigate", url="http://guestbook.test/")
    await browser.type('textbox "Author"', "Ada")
    await browser.click('button "Sign"')
    assert "This field is required." in await browser.call("snapshot")
    await browser.type('textbox "Text"', "Hello!")
    await browser.click('button "Sign"')
    snapshot = await browser.call("snapshot")
    assert "Thank you!" in snapshot and "Ada, just now" in snapshot
    assert [one.reason for one in await check_goals(world)] == ["", "", ""]
    await browser.call("navigate", url="http://admin.test/greetings/")
    assert "Lovely place!" in await browser.call("snapshot")
