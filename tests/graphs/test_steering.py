"""Tools that steer the graph they are part of, by a `Command`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)
from langgraph.types import Command

from agentworld_graphs import ScriptedChatModel, SimToolNode, simulate, simulate_graph
from agentworld_sim import AccessRefused, World
from agentworld_sim.runtime.sync import run_sync

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def run(graph: Any, way: str, given: Any) -> Any:
    return graph.invoke(given) if way == "invoke" else await graph.ainvoke(given)


def handoff(lab: Lab, agent: str, *, of: str | None = None) -> Any:
    """A tool that hands the conversation to another agent, as those of `langgraph_swarm` do.

    Args:
        agent: The other agent.
        of: The module that says it is its home.
    """

    def hand_on(runtime: ToolRuntime[Any, Any]) -> Command[str]:
        """Ask the other agent."""
        lab.ran.append("handoff")
        told = ToolMessage("handed on", tool_call_id=str(runtime.tool_call_id))
        messages = [*runtime.state["messages"], told]
        return Command(goto=agent, graph=Command.PARENT, update={"messages": messages})

    if of is not None:
        hand_on.__module__ = of
    return lab.tool(hand_on, name=f"transfer_to_{agent}")


def swarm(lab: Lab, tool: Any) -> Any:
    """Two agents in one conversation: the first writes a file and hands on, the second reads it."""
    model = ScriptedChatModel(
        script=[
            lab.asks(lab.call("bash", "1", command="echo milk > /tmp/list")),
            lab.asks(lab.call(tool.name, "2")),
            lab.asks(lab.call("bash", "3", command="cat /tmp/list")),
            AIMessage("done"),
        ]
    )
    bash = lab.shell_tools()[0]
    builder: Any = StateGraph(MessagesState)
    builder.add_node("alice", lab.create_agent(model, [bash, tool], name="alice"))
    builder.add_node("bob", lab.create_agent(model, [bash], name="bob"))
    builder.add_edge(START, "alice")
    return builder.compile()


@WAYS
@pytest.mark.parametrize("module", ["langgraph_swarm.handoff", "langgraph_supervisor.handoff"])
async def test_agents_hand_on_the_conversation_and_share_the_world(
    lab: Lab, go: Any, way: str, module: str
) -> None:
    graph = simulate_graph(swarm(lab, handoff(lab, "bob", of=module)))
    final = await run(graph, way, go)
    assert lab.answers(final) == ["", "handed on", "milk\n"]
    assert lab.ran == ["handoff"]


@WAYS
async def test_a_handoff_of_ones_own_runs_where_it_is_allowed(lab: Lab, go: Any, way: str) -> None:
    graph = simulate_graph(swarm(lab, handoff(lab, "bob")), access={"transfer_to_bob": "real"})
    final = await run(graph, way, go)
    assert lab.answers(final) == ["", "handed on", "milk\n"]


def test_what_it_is_and_what_to_do_is_told(lab: Lab) -> None:
    with pytest.raises(AccessRefused) as caught:
        simulate_graph(swarm(lab, handoff(lab, "bob")))
    text = str(caught.value)
    assert "'transfer_to_bob' may return a Command, with which it steers the graph" in text
    assert "access={'transfer_to_bob': 'real'}" in text


def test_no_model_imagines_what_a_command_would_do(lab: Lab) -> None:
    # Nobody is asked here.
    world = run_sync(World.create(model="http://127.0.0.1:9/v1"))

    def promised() -> Any:
        """Steers."""
        raise AssertionError("the real tool ran")

    promised.__annotations__["return"] = str | Command[Any]
    for tool in (handoff(lab, "bob"), lab.tool(promised)):
        with pytest.raises(AccessRefused, match="may return a Command"):
            SimToolNode([tool], world=world)
        with pytest.raises(AccessRefused, match="may return a Command"):
            simulate(tool, world)
        # Whoever wants it all the same says so.
        assert simulate(tool, world, binds_to="model/mcp").name == tool.name
