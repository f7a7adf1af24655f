"""A world shows and does what BrowserGym showed and did in Chromium: recorded, see `record.py`."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.engines.web import WebEngine, WebRequest, WebResponse
from agentworld_sim.engines.web.browsergym_actions import calls_in
from agentworld_sim.toolkits import toolkit
from agentworld_sim.types.state import StateChange, WorldState
from tests.browsergym.record import ACTIONS, RECORDED, likeness

KNOWN: dict[str, Any] = json.loads(gzip.decompress(RECORDED.read_bytes()))
_ELEMENT = re.compile(r"<.*>|<.*?/>|(?<=\(\) )(?:takes|missing|got) .*|(?<=\(\) )too many .*")
"""How a log shows an element, since BrowserGym writes marks of its own into the page; and how Python words wrong arguments."""


class RecordedSite:
    """Implements `Internet`: the pages on which the actions were recorded."""

    def hosts(self, state: WorldState) -> list[str]:
        return ["page.test"]

    def answer(
        self, request: WebRequest, state: WorldState
    ) -> tuple[WebResponse, StateChange] | None:
        if request.host != "page.test":
            return None
        html = ACTIONS["pages"].get(request.url)
        response = WebResponse(404 if html is None else 200, (html or "").encode())
        return response, StateChange(clock_us=state.clock_us)


async def gym_world() -> World:
    world = await World.create(engines=[WebEngine(None, RecordedSite())])
    world.add_tools(toolkit("browsergym"))
    return world


async def observe(world: World, action: str) -> dict[str, Any]:
    step = await world.step(ToolCall("browsergym_step", {"action": action}))
    return step.observation.structured


def test_pages_read_as_browsergym_reads_them() -> None:
    sites = [page for name, page in KNOWN["pages"].items() if not name.startswith("own/")]
    nodes, equal, whole = likeness(sites)
    assert equal >= 0.998 * nodes
    assert whole >= 0.95 * len(sites)
    nodes, equal, _ = likeness(page for name, page in KNOWN["pages"].items() if name[:4] == "own/")
    assert equal >= 0.80 * nodes  # pages made to be hard to read


async def test_every_action_does_and_says_what_it_does_in_browsergym() -> None:
    world = await gym_world()
    assert len(KNOWN["observations"]) == len(ACTIONS["actions"])
    for real in KNOWN["observations"]:
        ours = await observe(world, real["last_action"])
        for seen in (real, ours):
            seen["last_action_error"] = _ELEMENT.sub("<…>", seen["last_action_error"])
        assert ours == real, real["last_action"]


async def test_an_agent_of_browsergym_reads_its_error_in_the_text_too() -> None:
    world = await gym_world()
    step = await world.step(ToolCall("browsergym_step", {"action": "click('7')"}))
    error = 'ValueError: Could not find element with bid "7"'
    assert step.observation.text == f"{error}\n\nRootWebArea '', focused"
    assert not step.observation.is_error


async def test_numbers_stay_with_their_elements_and_forks_go_on_from_the_page() -> None:
    world = await gym_world()
    await observe(world, "goto('http://page.test/') fill('7', 'ada')")
    fork = await world.fork()
    for one in (world, fork):
        assert "[7] textbox 'Name' value='ada'" in (await observe(one, "noop()"))["axtree_txt"]
    assert (await observe(fork, "press('7', 'Enter')"))["url"] == "http://page.test/two?n=ada"
    assert (await observe(world, "noop()"))["url"] == "http://page.test/"


async def test_what_is_told_to_the_user_is_the_answer() -> None:
    world = await gym_world()
    await observe(world, "send_msg_to_user('forty-two')")
    assert (await world.state()).values["answer/text"] == "forty-two"


async def test_a_dialog_is_dismissed_and_a_program_is_not_run() -> None:
    world = await gym_world()
    await observe(world, "goto('http://page.test/')")
    seen = await observe(world, "click('24')")
    assert seen["last_action_error"] == ""
    hostile = (
        "__import__('os').system('x') fill('7', open('/etc/passwd').read()) click('7', **{'a': 1})"
    )
    assert (await observe(world, hostile))["last_action_error"].startswith(
        ("NameError", "ValueError")
    )


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ("tab_focus('1')", "Error: tab_focus: index: expected integer, got '1'"),
        ("fill('7', 5)", "Error: fill: value: expected string, got 5"),
        ("noop(1j)", "Error: noop: wait_ms: expected number, got 1j"),
        ("goto('file:///etc/passwd')", "Error: Page.goto: net::ERR_UNKNOWN_URL_SCHEME at file:///"),
        ("hop(1) noop()", "NameError: Invalid action type 'hop'."),
    ],
)
async def test_wrong_arguments_are_refused_by_name(action: str, error: str) -> None:
    assert (await observe(await gym_world(), action))["last_action_error"].startswith(error)


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("I'll click('7'), then\nfill('8', value=\"it's\") # hover('9')", ["click", "fill"]),
        ("click(hover('7'))", ["hover"]),
        ("select_option('1', ['a', \"b)\"])", ["select_option"]),
        ('fill("7", """two\n"lines" """)', ["fill"]),
        ("fill('7', f'{x}') click ( '8' )", ["click"]),
    ],
)
def test_calls_are_found_in_what_an_agent_writes(text: str, calls: list[str]) -> None:
    assert [name for name, _, _ in calls_in(text)] == calls


@pytest.mark.parametrize(
    "action",
    ["click(" * 5000, "f('" + "x" * 99_999, "a(" * 4999 + ")" * 4999, "a('" * 7000, "x" * 20_000],
)
async def test_an_action_without_end_is_an_error_at_once(action: str) -> None:
    assert (await observe(await gym_world(), action))["last_action_error"]
