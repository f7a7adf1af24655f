"""A session of the shell engine that is closed while a call is on its way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentworld_sim import ToolCall, ToolSpec
from agentworld_sim.engines.shell import Machine, ShellEngine
from agentworld_sim.engines.shell.image import base_tree
from agentworld_sim.engines.shell.shell_engine import ShellEngineSession
from agentworld_sim.ports import StepContext
from agentworld_sim.types import MemoryBlobs, WorldState


async def none(*_: object) -> Any:
    return ()


async def test_a_call_that_is_cancelled_after_its_session_was_closed_is_a_cancelled_call() -> None:
    engine, blobs = ShellEngine(), MemoryBlobs()
    state = WorldState(files=base_tree(Machine(), 0, blobs), clock_us=0, seed=5)
    tool = engine.bind(ToolSpec(name="run", binds_to="terminal/bash", input_schema=SCHEMA))
    assert tool is not None
    session = await engine.open(state, blobs)
    assert isinstance(session, ShellEngineSession)
    context = StepContext(
        call=ToolCall("run", {"command": "for i in 1 2; do echo $i; done"}),
        tool=tool,
        state=state,
        seed=1,
        blobs=blobs,
        history=none,
        failures=none,
        state_at=none,
    )
    calling = asyncio.ensure_future(session.answer(context))
    await asyncio.sleep(0)
    # The answer is there, and the loop has not been told yet.
    assert session._computing is not None  # pyright: ignore[reportPrivateUsage]
    session._computing.result()  # pyright: ignore[reportPrivateUsage]
    session.close()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
