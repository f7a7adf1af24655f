"""Tools that no engine computes, in a graph: a model imagines them, the graph stays as it is."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)

from agentworld_graphs import SimToolNode, SimulationInterrupted, simulate
from agentworld_sim import AccessRefused, UsageError, World
from agentworld_sim.llm.scripted import ErrorReply, ScriptedModelServer, ScriptedReply
from agentworld_sim.runtime.sync import run_sync


@tool
def track_parcel(number: str) -> str:
    """Where a parcel is."""
    raise AssertionError("the real tool ran")


ON_ITS_WAY = ScriptedReply.observation("In Utrecht, arrives tomorrow.", thinking="Where is it?")
ASKED = {
    "messages": [
        AIMessage("", tool_calls=[{"name": "track_parcel", "args": {"number": "7"}, "id": "c1"}])
    ]
}


def graph(node: SimToolNode) -> Any:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("tools", node)
    builder.add_edge(START, "tools")
    return builder.compile()


@pytest.mark.promise("imagined-is-marked")
def test_a_node_imagines_what_the_model_is_named_for() -> None:
    with ScriptedModelServer([ON_ITS_WAY]) as server:
        node = SimToolNode([track_parcel], model=server.url)
        answer: ToolMessage = graph(node).invoke(ASKED)["messages"][-1]
        run_sync(node.world.close())
    assert (answer.content, answer.status) == ("In Utrecht, arrives tomorrow.", "success")
    assert "simul" not in str(answer.content)


async def test_a_node_imagines_in_an_event_loop_too() -> None:
    with ScriptedModelServer([ON_ITS_WAY]) as server:
        async with await World.create(model=server.url) as world:
            node = SimToolNode([track_parcel], world=world)
            state = await graph(node).ainvoke(ASKED)
    assert state["messages"][-1].content == "In Utrecht, arrives tomorrow."


def test_a_single_tool_imagines(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModelServer([ON_ITS_WAY]) as server:
        monkeypatch.setenv("AGENTWORLD_MODEL_URL", server.url)
        simulated = simulate(track_parcel)
        assert simulated.invoke({"number": "7"}) == "In Utrecht, arrives tomorrow."
        run_sync(simulated.world.close())


@pytest.mark.promise("model-failure")
def test_a_model_that_is_down_ends_the_run_and_is_no_message() -> None:
    with ScriptedModelServer([ErrorReply(status=400)]) as server:
        node = SimToolNode([track_parcel], model=server.url, handle_tool_errors=True)
        with pytest.raises(SimulationInterrupted) as told:
            graph(node).invoke(ASKED)
        assert server.url in str(told.value)
        run_sync(node.world.close())


@pytest.mark.promise("no-model")
def test_without_a_model_the_tool_binds_to_nothing() -> None:
    with pytest.raises(AccessRefused, match="track_parcel"):
        SimToolNode([track_parcel])


def test_a_world_that_is_open_has_its_model_already() -> None:
    world = run_sync(World.create())
    with pytest.raises(UsageError, match=r"Give it to World\.create"):
        simulate(track_parcel, world=world, model="http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match=r"Give it to World\.create"):
        SimToolNode([track_parcel], world=world, model="http://127.0.0.1:9/v1")


@pytest.mark.slow
def test_a_program_that_ends_closes_what_its_tools_opened() -> None:
    program = """
import sys
from langchain_core.tools import tool
from agentworld_graphs import simulate

@tool
def track_parcel(number: str) -> str:
    '''Where a parcel is.'''

print(simulate(track_parcel, model=sys.argv[1]).invoke({"number": "7"}))
"""
    with ScriptedModelServer([ON_ITS_WAY]) as server:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-X", "dev", "-c", program, server.url],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout == "In Utrecht, arrives tomorrow.\n"
    assert "ResourceWarning" not in done.stderr
