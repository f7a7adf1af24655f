"""MCP servers that search the web and read pages, mirrored over a world with pages."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp.types import TextContent

from tests.toolkits.test_search_services import RECORDED

if TYPE_CHECKING:
    from conftest import Shim

LISTING = str(Path(__file__).parents[1] / "data" / "mcp_listing.py")
SCENARIO = """
name: lamps
domains: [search]
pages:
  https://orvelle.example/helio: {title: Helio 3, text: "# Helio 3\\n\\nA lamp of **42** euros.", date: "2024-06-18"}
"""


@pytest.fixture
def server(tmp_path: Path) -> list[str]:
    """A server that offers what these servers publish, under a scenario with one page."""
    wanted = ("mcp-server-fetch", "duckduckgo-mcp-server", "exa-mcp-server", "tavily-mcp")
    tools: list[dict[str, Any]] = []
    for published, schema in RECORDED["schemas"].items():
        if published.startswith(wanted):
            tool = {"name": published.rpartition("/")[2], "inputSchema": schema}
            if published.startswith("duckduckgo"):
                result = {"type": "object", "properties": {"result": {"type": "string"}}}
                tool["outputSchema"] = {**result, "required": ["result"]}
            tools.append(tool)
    (tmp_path / "listing.json").write_text(json.dumps({"tools": tools}), encoding="utf-8")
    (tmp_path / "lamps.yaml").write_text(SCENARIO, encoding="utf-8")
    scenario = ("--memory", "--scenario", str(tmp_path / "lamps.yaml"))
    return [*scenario, "--", sys.executable, LISTING, str(tmp_path / "listing")]


async def test_their_tools_answer_from_the_pages_of_the_world(
    shim: Shim, server: list[str]
) -> None:
    async with shim.client(*server) as client:

        async def told(tool: str, **arguments: Any) -> str:
            result = await client.call_tool(tool, arguments)
            block = result.content[0]
            assert isinstance(block, TextContent)
            assert result.structured_content in (None, {"result": block.text})
            return f"{block.text}{' (error)' if result.is_error else ''}"

        url = "https://orvelle.example/helio"
        assert await told("fetch", url=url) == f"Contents of {url}:\n# Helio 3\n\nA lamp of **42** euros."  # fmt: skip
        missing = await told("fetch", url=f"{url}/4")
        assert missing == f"Error executing tool fetch: Failed to fetch {url}/4 - status code 404 (error)"  # fmt: skip
        found = await told("search", query="lamp")
        assert found.startswith("Found 1 search results:\n\n1. Helio 3\n   URL: ")
        assert (await told("fetch_content", url=url)).startswith("Helio 3 A lamp of 42 euros.\n\n---")  # fmt: skip
        assert (await told("web_search_exa", query="lamp")).startswith("Title: Helio 3\nURL: ")
        assert (await told("tavily_search", query="lamp")).startswith("Detailed Results:\n\nTitle: Helio 3")  # fmt: skip
