"""Tools that no engine computes, through the shim: a model imagines them, nothing real is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp.types import TextContent

from agentworld_sim.llm.scripted import ErrorReply, ScriptedModelServer, ScriptedReply
from mcp import MCPError

if TYPE_CHECKING:
    from conftest import Shim

SENT = ScriptedReply.observation("Message 812 queued.", thinking="A mail tool.")


@pytest.mark.promise("upstream-untouched")
async def test_a_tool_that_binds_to_nothing_is_imagined(shim: Shim, upstream: list[str]) -> None:
    with ScriptedModelServer([SENT], api_key="k-1") as server:
        shim.environment["AGENTWORLD_API_KEY"] = "k-1"
        async with shim.client("--model-url", server.url, *upstream) as client:
            result = await client.call_tool("send_mail", {"to": "a@b.example", "text": "hi"})
        (request,) = server.requests
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert content.text == "Message 812 queued."
    assert not result.is_error
    assert shim.called_for_real() == []
    assert '"name": "send_mail"' in request.last_user
    assert request.authorization == "right"
    assert b"k-1" not in shim.store.read_bytes()


async def test_structured_content_is_imagined_in_the_tools_own_schema(
    shim: Shim, upstream: list[str]
) -> None:
    with ScriptedModelServer([ScriptedReply(content='{"lines": 3, "ok": true}')]) as server:
        async with shim.client("--model-url", server.url, *upstream) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            promised = tools["inspect"].output_schema
            result = await client.call_tool("inspect", {"command": "wc x"})
        asked = server.requests[0].body["response_format"]["json_schema"]["schema"]
    assert result.structured_content == {"lines": 3, "ok": True}
    assert promised is not None
    assert promised["properties"] in [one.get("properties") for one in asked["anyOf"]]


@pytest.mark.promise("model-failure")
async def test_a_model_that_is_down_is_a_protocol_error_and_no_result(
    shim: Shim, upstream: list[str]
) -> None:
    with ScriptedModelServer([ErrorReply(status=400)]) as server:
        async with shim.client("--model-url", server.url, *upstream) as client:
            with pytest.raises(MCPError, match="400"):
                await client.call_tool("send_mail", {"to": "a@b.example", "text": "hi"})
