"""Playwright's MCP server, answered by a world: through the server's own protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from agentworld_mcp_shim import world_server
from agentworld_sim import World
from agentworld_sim.engines.web import WebEngine
from tests.engines.web.action_site import ActionInternet

LISTINGS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "engines/web/actions/tools.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize(
    "release, shown", [("0.0.83", "[Snapshot](.playwright-mcp/"), ("0.0.68", "```yaml\n")]
)
async def test_the_listing_of_a_release_chooses_how_pages_are_shown(
    release: str, shown: str
) -> None:
    world = await World.create(engines=[WebEngine(None, ActionInternet(), workspace="/srv/app")])
    tools = [{"name": name, "inputSchema": schema} for name, schema in LISTINGS[release].items()]
    async with Client(world_server(world, tools)) as client:
        url = "http://orders.web.test/blank.html"
        result = await client.call_tool("browser_navigate", {"url": url})
        text = getattr(result.content[0], "text", "")
        assert f"- Page URL: {url}\n- Page Title: Blank\n### Snapshot\n" in text
        assert shown in text
        key = {"0.0.83": "target", "0.0.68": "ref"}[release]
        stale = await client.call_tool("browser_click", {key: "e99"})
        assert stale.is_error
