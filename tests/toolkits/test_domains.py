"""Which domain a tool belongs to, whoever offers it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolSpec, World, bind
from agentworld_sim.toolkits import infer_domain, known_tools

NOBODY = "http://127.0.0.1:9"
"""No model answers there; none is asked."""


def tool(name: str, *arguments: str, description: str = "") -> ToolSpec:
    properties = {argument: {"type": "string"} for argument in arguments}
    schema = {"type": "object", "properties": properties}
    return ToolSpec(name=name, description=description, input_schema=schema)


# Signatures of published servers, toolkits and benchmarks.
SEARCH = [
    tool("tavily_search", "query", "search_depth", "topic", "max_results"),
    tool("tavily_search_results_json", "query"),
    tool("tavily_extract", "urls", "extract_depth"),
    tool("tavily__tavily_map", "url", "max_depth"),
    tool("brave_web_search", "query", "count", "offset"),
    tool("brave_summarizer", "key", "entity_info"),
    tool("duckduckgo_results_json", "query"),
    tool("web_search_exa", "query", "numResults"),
    tool("web_fetch_exa", "urls", "maxCharacters"),
    tool("web_search", "query"),
    tool("WebSearch", "query", "allowed_domains"),
    tool("WebFetch", "url", "prompt"),
    tool("google_search", "query"),
    tool("fetch", "url", "max_length", "start_index", "raw"),
    tool("fetch_url", "url"),
    tool("search", "query", "region", description="Searches the web with DuckDuckGo."),
]
WEB = [
    tool("browser_navigate", "url"),
    tool("browser_click", "element", "ref"),
    tool("playwright__browser_snapshot"),
    tool("playwright_screenshot", "name"),
    tool("puppeteer_click", "selector"),
    tool("click", "bid", "button"),
    tool("fill", "bid", "value"),
    tool("goto", "url"),
]
ANDROID = [
    tool("mobile_list_apps", "device"),
    tool("mobile_click_on_screen_at_coordinates", "device", "x", "y"),
    tool("mobile_use", "action", "coordinate"),
    tool("android_action", "action_type", "index", "text", "app_name"),
    tool("execute_action", "action_type", "index", "app_name"),
    tool("open_app", "app_name"),
    tool("long_press", "x", "y"),
    tool("adb_tap", "x", "y"),
]
OS = [
    tool("computer", "action", "coordinate", "text"),
    tool("computer_use", "action", "coordinate"),
    tool("run_pyautogui", "code"),
    tool("execute", "code", description="Runs Python with pyautogui on the desktop."),
]
TERMINAL = [tool("terminus_command", "keystrokes", "duration")]
MCP = [
    tool("search", "query"),
    tool("search_issues", "query"),
    tool("search_code", "q", description="Searches code on the web."),
    tool("fetch", "id"),
    tool("http_get", "url"),
    tool("click", "x", "y"),
    tool("scroll", "direction"),
    tool("wait", "seconds"),
    tool("computer_list", "name"),
    tool("swipe_card", "number"),
    tool("open_app", "account"),
    tool("mobile_number_lookup", "number"),
    tool("create_browser", "name"),
    tool("send_email", "to", "subject", "body"),
]


@pytest.mark.parametrize(
    ("domain", "spec"),
    [
        (domain, spec)
        for domain, specs in {
            "search": SEARCH,
            "web": WEB,
            "android": ANDROID,
            "os": OS,
            "terminal": TERMINAL,
            "mcp": MCP,
        }.items()
        for spec in specs
    ],
    ids=lambda value: value.name if isinstance(value, ToolSpec) else value,
)
def test_name_and_arguments_show_the_domain(domain: str, spec: ToolSpec) -> None:
    assert infer_domain(spec) == domain


def test_no_tool_of_a_known_server_is_taken_for_another_domain() -> None:
    servers = [one.spec for one in known_tools().values() if one.domain == "mcp"]
    assert {infer_domain(spec) for spec in servers} == {"mcp"}


async def test_functions_and_objects_are_imagined_in_their_own_domain() -> None:
    def tavily_search(query: str) -> str:
        raise AssertionError("a real tool ran")

    clicks = {"name": "browser_click", "parameters": SEARCH[0].input_schema}
    async with await World.create(model=NOBODY) as world:
        bound = [one.spec for one in bind(world, [tavily_search, clicks])]
    assert [(one.domain, one.binds_to) for one in bound] == [
        ("search", "model/search"),
        ("web", "model/web"),
    ]


def scenario(domains: list[str], **entry: Any) -> Scenario:
    tools = [{"name": "look_up", "input_schema": SEARCH[9].input_schema, **entry}]
    return Scenario.parse(json.dumps({"name": "lab", "domains": domains, "tools": tools}))


@pytest.mark.parametrize(
    ("lab", "domain"),
    [
        (scenario(["search"]), "search"),
        (scenario(["mcp", "search"], domain="search"), "search"),
        (scenario(["mcp", "web"], domain="mcp", binds_to="model/web"), "web"),
        (scenario(["mcp", "android"], domain="mcp"), "mcp"),
    ],
)
async def test_the_domain_of_a_scenario_is_kept(lab: Scenario, domain: str) -> None:
    async with await World.create(lab, model=NOBODY) as world:
        assert world.tools["look_up"].domain == domain

        if domain != "web":
            # An agent that brings the tool itself knows nothing of the scenario.
            def look_up(query: str) -> str:
                raise AssertionError("a real tool ran")

            assert bind(world, [look_up])[0].spec.domain == domain


async def test_a_tool_with_a_domain_of_its_own_is_no_well_known_tool_of_another() -> None:
    spec = ToolSpec(
        name="bash", input_schema=known_tools()["terminal/bash"].input_schema, domain="android"
    )
    async with await World.create(model=NOBODY) as world:
        (bound,) = world.add_tools([spec])
    assert (bound.domain, bound.binds_to) == ("android", "model/android")
