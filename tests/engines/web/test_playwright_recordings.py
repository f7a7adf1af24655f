"""What Playwright's MCP server says on the same pages, call by call: recorded with real Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.engines.web import WebEngine
from agentworld_sim.engines.web.document import parse_document
from agentworld_sim.engines.web.locators import Locators
from agentworld_sim.engines.web.page_view import PageView
from agentworld_sim.toolkits import toolkit
from tests.engines.web.action_site import ActionInternet

RECORDED = Path(__file__).parent / "actions"
LOCATORS: dict[str, dict[str, str]] = json.loads(
    (RECORDED / "locators.json").read_text(encoding="utf-8")
)
KITS = {"target": "playwright-mcp", "ref": "playwright-mcp-ref"}


def recorded_calls(key: str) -> list[tuple[str, dict[str, Any], bool, str]]:
    """Tool, arguments, whether it failed, and the answer."""
    text = (RECORDED / f"{key}.md").read_text(encoding="utf-8")
    found = re.findall(
        r"^#### (\w+) (\{.*?\})( FAILS)?\n(.*?)\n(?=\n#### |\Z)", text, re.MULTILINE | re.DOTALL
    )
    return [
        (f"browser_{name}", json.loads(given), bool(fails), said)
        for name, given, fails, said in found
    ]


async def browsing(key: str) -> World:
    about = {"name": "orders", "domains": ["web"], "files": {"/srv/app/up.txt": "hello up"}}
    scenario = Scenario.model_validate(about)
    engine = WebEngine(None, ActionInternet(), workspace="/srv/app")
    world = await World.create(scenario, engines=[engine])
    world.add_tools(toolkit(KITS[key]))
    return world


@pytest.mark.parametrize("name", LOCATORS)
def test_every_element_is_named_as_playwright_names_it(name: str) -> None:
    (path,) = RECORDED.parent.glob(f"*/{name}.html")
    page = PageView(parse_document(path.read_text(encoding="utf-8")))
    page.snapshot()
    locators = Locators(page.document, page)
    written = {ref: page.element_of(ref) for ref in LOCATORS[name]}
    assert {ref: one and locators.of(one) for ref, one in written.items()} == LOCATORS[name]


@pytest.mark.parametrize("key", KITS)
async def test_every_answer_is_the_real_one(key: str) -> None:
    world = await browsing(key)
    for name, given, failed, said in recorded_calls(key):
        observation = (await world.step(ToolCall(name, given))).observation
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d-]+Z", "TIME", observation.text)
        assert (text, observation.is_error) == (said, failed), (name, given)
