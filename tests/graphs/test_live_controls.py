"""A control that is switched on under a graph whose thread carries the point where it stands."""

from __future__ import annotations

from typing import Any, cast

import pytest
from langchain import agents
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs import ScriptedChatModel, SimulatedTools
from agentworld_sim import MemoryStore, World

OUTAGE = {"kind": "fault", "name": "outage", "tool": "bash", "error": "no"}


@tool
def bash(command: str) -> str:
    """Runs a command."""
    raise AssertionError("the real tool ran")


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_thread_meets_it_at_its_next_call_and_time_travel_goes_round_it(
    elsewhere: bool,
) -> None:
    call = {"name": "bash", "args": {"command": "echo hi"}, "id": "1"}
    script = [reply for _ in range(4) for reply in (AIMessage("", tool_calls=[call]), "done")]
    store = MemoryStore()
    world = await World.create(id="w", store=store)
    made = cast("Any", agents).create_agent(
        ScriptedChatModel(script=script),
        [bash],
        middleware=[SimulatedTools(world=world)],
        checkpointer=InMemorySaver(),
    )
    thread = {"configurable": {"thread_id": "1"}}

    async def say(config: Any) -> str:
        state = await made.ainvoke({"messages": [("user", "go")]}, config)
        return state["messages"][-2].text.strip()

    assert await say(thread) == "hi"
    assert await say(thread) == "hi"
    operator = await World.open("w", store=store) if elsewhere else world
    await operator.switch_controls(add=[OUTAGE])
    assert await say(thread) == "no"
    first = [
        state
        async for state in made.aget_state_history(thread)
        if not state.next and len(state.values["messages"]) == 4
    ]
    assert await say(first[0].config) == "hi"
    await world.close()
