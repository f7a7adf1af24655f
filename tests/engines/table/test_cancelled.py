"""A call that is given up while its query runs in a thread."""

from __future__ import annotations

import asyncio
from random import Random

from agentworld_sim import ToolCall, ToolSpec, World

ID = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TOOLS = [
    ToolSpec(name="create_ticket", domain="mcp", input_schema=TITLE),
    ToolSpec(name="get_ticket", domain="mcp", input_schema=ID),
    ToolSpec(name="list_tickets", domain="mcp"),
]


async def test_calls_that_are_given_up_at_any_moment_leave_a_world_that_answers() -> None:
    # Each is cancelled elsewhere: before its thread begins, in the middle of a query, at its end.
    moments = Random(1)
    async with await World.create(model=False) as world:
        world.add_tools(TOOLS)
        for _ in range(150):
            step = asyncio.ensure_future(world.step(ToolCall("create_ticket", {"title": "Lamp"})))
            await asyncio.sleep(moments.random() * 0.0015)
            step.cancel()
            await asyncio.wait([step])
        made = len(await world.trajectory())
        listed = await world.step(ToolCall("list_tickets"))
        assert listed.observation.text.count('"Lamp"') == made
