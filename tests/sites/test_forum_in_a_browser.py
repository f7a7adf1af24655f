"""The forum, used by an agent with the tools of Playwright's MCP server, and judged by goals."""

from __future__ import annotations

import re
from typing import Any

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.goals import check_goals

TITLE = "Which pens do you write your notes with?"
GOALS: list[dict[str, Any]] = [
    {
        "record": "submissions",
        "added": {"forum": "books", "author": "MarvelsGrantMan136", "title": TITLE},
    },
    {"record": "submission_votes", "added": {"user": "MarvelsGrantMan136", "choice": 1}},
    {
        "request": "/submit/{forum_name}",
        "site": "forum",
        "fields": {"submission[title]": TITLE},
        "status": 302,
    },
    {"page": "/f/books/1081/which-pens-do-you-write-your-notes-with", "contains": "No comments"},
    {"nothing_else": "records"},
]


def forum_scenario(*goals: dict[str, Any]) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "pens",
            "domains": ("web",),
            "sites": ({"site": "forum", "user": "MarvelsGrantMan136"},),
            "tools": ("playwright-mcp",),
            "goals": goals,
        }
    )


class Browser:
    """Follows what the snapshots say, as an agent does."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def call(self, name: str, **arguments: Any) -> str:
        turn = await self.world.step(ToolCall(f"browser_{name}", arguments))
        assert not turn.observation.is_error, turn.observation.text
        return turn.observation.text

    async def ref(self, line: str) -> str:
        found = re.search(rf"{re.escape(line)}[^\n]*?\[ref=(\w+)\]", await self.call("snapshot"))
        assert found is not None, line
        return found[1]

    async def click(self, line: str) -> str:
        return await self.call("click", element=line, target=await self.ref(line))

    async def type(self, line: str, text: str) -> str:
        return await self.call("type", element=line, target=await self.ref(line), text=text)


async def submit_a_question(world: World, title: str = TITLE) -> Browser:
    browser = Browser(world)
    await browser.call("navigate", url="http://forum.test/f/books")
    await browser.click('link "Submit"')
    await browser.type('textbox "Title"', title)
    await browser.click('button "Create submission"')
    return browser


async def verdicts(world: World) -> list[bool]:
    return [result.met for result in await check_goals(world)]


async def test_an_agent_asks_a_question_and_the_goals_are_met() -> None:
    world = await World.create(forum_scenario(*GOALS))
    assert await verdicts(world) == [False, False, False, False, True]
    browser = await submit_a_question(world)
    assert [(one.goal, one.reason) for one in await check_goals(world) if not one.met] == []
    assert f'link "{TITLE}"' in await browser.call("snapshot")


async def test_goals_refuse_near_misses() -> None:
    world = await World.create(forum_scenario(*GOALS))
    browser = await submit_a_question(world, "Which pens?")
    assert await verdicts(world) == [False, True, False, False, False]
    await browser.call("navigate", url="http://forum.test/f/books/1001")
    assert (await check_goals(world))[3].reason.startswith(
        "the browser shows http://forum.test/f/books/1001"
    )

    world = await World.create(forum_scenario(*GOALS))
    await submit_a_question(world)
    browser = Browser(world)
    await browser.click('button "Retract upvote"')
    assert await verdicts(world) == [True, False, True, True, True]
    await browser.type('textbox "Comment"', "Mine is green.")
    await browser.click('button "Post"')
    results = await check_goals(world)
    assert not results[4].met and "comments" in results[4].reason


async def test_an_untouched_forum_has_its_records_and_a_fork_has_its_own() -> None:
    world = await World.create(forum_scenario())
    fork = await world.fork()
    await submit_a_question(fork)
    assert [one.table for one in (await fork.diff(fork.root)).records] == [
        "submission_votes",
        "submissions",
    ]
    assert not (await world.diff(world.root)).records


async def test_a_world_is_the_same_after_it_was_reopened() -> None:
    world = await World.create(forum_scenario())
    browser = await submit_a_question(world)
    again = await World.open(world.id, store=world.store)
    assert await Browser(again).call("snapshot") == await browser.call("snapshot")
