"""A tool that nobody answers: the agent hears little, people what to do about it."""

from __future__ import annotations

import pytest

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import Mirror
from agentworld_mcp_shim._tool_calls import ToolCalls
from agentworld_sim import World


async def test_people_are_told_what_to_do_about_a_refused_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}
    page = {"tools": [{"name": "frobnicate", "inputSchema": schema}]}
    mirror = Mirror(Listing(identity={}, lists={"tools/list": {None: page}}))
    tool = mirror.tools["frobnicate"]
    async with await mirror.bind(await World.create(), mirror.specs({})) as world:
        result = await ToolCalls().call(world, tool, {"x": "1"})
    assert getattr(result.content[0], "text", "") == (
        "'frobnicate' was not called, and nothing was changed: it is not available here."
    )
    (record,) = [one for one in caplog.records if one.name.endswith("_tool_calls")]
    advice = record.getMessage()
    assert advice.startswith("'frobnicate' is refused, because it binds to nothing.")
    assert "`--bind frobnicate=TOOLKIT/TOOL`" in advice
    assert advice.endswith("`--model-url URL`.")
