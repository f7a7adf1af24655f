"""Every tool of every server, through the shim, with good arguments and bad ones."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from mcp.types import CallToolResult, Tool

from agentworld_sim.schema.validate import schema_problem
from mcp import Client, MCPError
from tests.servers.arguments import valid, wrong
from tests.servers.behind import Behind, Source
from tests.servers.real import NAMES

TIMES = 3
"""How often each tool is called with good arguments."""

SERVERS = pytest.mark.parametrize("server", NAMES)
SOURCES = pytest.mark.parametrize("source", ["live", "snapshot"])


def shown(tools: list[Tool]) -> list[dict[str, Any]]:
    """A list of tools as a client sees it."""
    return [tool.model_dump(mode="json", by_alias=True) for tool in tools]


async def called(client: Client, tool: Tool, arguments: dict[str, Any]) -> CallToolResult:
    """A result that is valid against the protocol and the tool's output schema."""
    result = await client.call_tool(tool.name, arguments)
    assert isinstance(result, CallToolResult)
    assert result.content, "a result without content shows a model nothing"
    if tool.output_schema is not None and not result.is_error:
        problem = schema_problem(tool.output_schema, result.structured_content)
        assert problem is None, problem
    marks = (result.meta or {}).get("agentworld/simulated")
    assert marks is not None, "people cannot see that it is simulated"
    return result


@SERVERS
@SOURCES
async def test_it_shows_the_servers_list_and_answers_every_call_without_it(
    behind: Behind, server: str, source: Source
) -> None:
    random = Random(f"{server} {source}")
    async with behind.direct(server) as client:
        direct = shown((await client.list_tools()).tools)
        # The same era on both sides: each has fields that the other does not know.
        mode = "legacy" if client.protocol_version < "2026" else "auto"
    before = behind.fingerprint()
    strange = 0
    async with behind.shown(server, source, mode=mode) as client:
        tools = (await client.list_tools()).tools
        for tool in tools:
            for _ in range(TIMES):
                await called(client, tool, valid(tool.input_schema, random))
            for what, arguments in wrong(tool.input_schema, random):
                try:
                    await called(client, tool, arguments)
                except MCPError as error:
                    raise AssertionError(f"{tool.name}: {what}: {error}") from error
                strange += 1
        again = shown((await client.list_tools()).tools)
    assert shown(tools) == direct
    assert again == direct
    assert strange >= len(tools) > 0
    assert "tools/call" not in behind.sent()
    assert "tools/list" in behind.sent()
    assert behind.fingerprint() == before
