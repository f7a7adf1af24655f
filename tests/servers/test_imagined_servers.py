"""Servers that nothing computes, behind the shim with a scripted model."""

from __future__ import annotations

from random import Random

import pytest
from mcp.types import TextContent

from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from tests.servers.arguments import valid
from tests.servers.behind import Behind


@pytest.mark.parametrize("server", ["git", "fetch"])
async def test_what_nothing_computes_is_imagined_and_the_server_never_called(
    behind: Behind, server: str
) -> None:
    random = Random(server)
    imagined = 0
    behind.server(server)
    before = behind.fingerprint()
    replies = [ScriptedReply.observation(f"answer {number}") for number in range(40)]
    with ScriptedModelServer(replies) as model:
        async with behind.shown(server, "snapshot", "--model-url", model.url) as client:
            for tool in (await client.list_tools()).tools:
                if tool.output_schema is not None:
                    continue
                result = await client.call_tool(tool.name, valid(tool.input_schema, random))
                (content,) = result.content
                assert isinstance(content, TextContent)
                marks = (result.meta or {})["agentworld/simulated"]
                if marks.get("provenance") == "imagined":
                    imagined += 1
                    assert content.text.startswith("answer ")
        assert len(model.requests) >= imagined
    assert imagined > 0
    assert "tools/call" not in behind.sent()
    assert behind.fingerprint() == before
