"""Agents that are called as tools work in the same world, where the call stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulatedTools,
    SimulationInterrupted,
    ref_in,
    simulate,
)
from agentworld_graphs._thread_refs import marks_of
from agentworld_sim import MemoryStore, World
from tests.graphs.shapes import SHAPES, Setting, asks_a_person, world_in

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])
OUTER = ["channel", "marks", "sent_channel", "sent_marks", "react_v2", "functional", "subgraph"]
"""The shapes whose outer tool node is ours; a plain `ToolNode` does not tell what a real tool did."""
SHAPE = pytest.mark.parametrize("shape", OUTER)
INNER = pytest.mark.parametrize("inner", ["node", "tools", "middleware"])


async def run(graph: Any, way: str, given: Any, config: Any) -> Any:
    return graph.invoke(given, config) if way == "invoke" else await graph.ainvoke(given, config)


def helper(
    lab: Lab,
    world: World,
    name: str,
    script: Sequence[AIMessage],
    *,
    inner: str = "node",
    real: Sequence[BaseTool] = (),
    swallows: bool = False,
) -> BaseTool:
    """A tool that asks an agent of its own and gives its answers."""
    access: Any = {tool.name: "real" for tool in real}
    model = ScriptedChatModel(script=list(script), checks_calls=False)
    agent: Any
    if inner == "node":
        agent = lab.agent(SimToolNode([*lab.tools(), *real], world=world, access=access), *script)
    elif inner == "tools":
        agent = lab.create_agent(model, [*(simulate(one, world) for one in lab.tools()), *real])
    else:
        simulated = SimulatedTools(world=world, access=access)
        agent = lab.create_agent(model, [*lab.tools(), *real], middleware=[simulated])

    def ask(task: str) -> str:
        """Asks an agent."""
        try:
            return ";".join(lab.answers(agent.invoke({"messages": [("user", task)]})))
        except Exception as error:
            if swallows:
                return f"it failed: {error}"
            raise

    async def ask_async(task: str) -> str:
        """Asks an agent."""
        try:
            return ";".join(lab.answers(await agent.ainvoke({"messages": [("user", task)]})))
        except Exception as error:
            if swallows:
                return f"it failed: {error}"
            raise

    return StructuredTool.from_function(ask, coroutine=ask_async, name=name)


def outer_script(lab: Lab, *between: dict[str, Any]) -> list[AIMessage]:
    first, last = lab.call("add", "z", item="z"), lab.call("add", "zz", item="zz")
    return [
        lab.adds("a"),
        lab.asks(first, *between, last),
        lab.asks(lab.call("look", "l")),
        AIMessage("done"),
    ]


@WAYS
@SHAPE
@INNER
async def test_agents_in_one_message_work_one_after_another(
    lab: Lab, go: Any, shape: str, way: str, inner: str
) -> None:
    world = await world_in(None, lab)
    one = [lab.adds("x1"), lab.adds("y1"), lab.asks(lab.call("look", "i")), AIMessage("done")]
    other = [lab.adds("x2", "y2"), AIMessage("done")]
    real = [
        helper(lab, world, "one", one, inner=inner),
        helper(lab, world, "other", other, inner=inner),
    ]
    calls = lab.call("one", "1", task="t"), lab.call("other", "2", task="t")
    script = outer_script(lab, *calls)
    graph = SHAPES[shape](Setting(lab, world, script, InMemorySaver(), real))
    final = await run(graph, way, go, lab.thread())
    assert lab.answers(final) == [
        "a",
        "a,z",
        "a,z,x1;a,z,x1,y1;a,z,x1,y1",
        "a,z,x1,y1,x2;a,z,x1,y1,x2,y2",
        "a,z,x1,y1,x2,y2,zz",
        "a,z,x1,y1,x2,y2,zz",
    ]
    # The answers of the agents carry on where they left the world, as all others do.
    marks = [marks_of(one) for one in final["messages"] if one.type == "tool"]
    chain = [(mark["parent"], mark["ref"]) for mark in marks if mark]
    assert len(chain) == 6
    assert [parent for parent, _ in chain[1:]] == [ref for _, ref in chain[:-1]]


@WAYS
@pytest.mark.parametrize("shape", ["channel", "marks", "sent_marks", "react_v2"])
async def test_going_back_before_an_agent_was_asked_takes_back_what_it_did(
    lab: Lab, go: Any, shape: str, way: str
) -> None:
    world = await world_in(None, lab)
    real = [helper(lab, world, "one", [lab.adds("x"), AIMessage("done")])]
    script = [
        lab.adds("a"),
        lab.asks(lab.call("one", "1", task="t")),
        lab.adds("b"),
        AIMessage("-"),
    ]
    graph = SHAPES[shape](Setting(lab, world, script, InMemorySaver(), real))
    first = await run(graph, way, go, lab.thread())
    assert lab.answers(first) == ["a", "a,x", "a,x,b"]
    for snapshot in [one for one in graph.get_state_history(lab.thread()) if one.next][:-1]:
        again = await run(graph, way, None, snapshot.config)
        assert lab.answers(again) == lab.answers(first) and ref_in(again) == ref_in(first)


@WAYS
@SHAPE
@pytest.mark.parametrize("inner", ["node", "middleware"])
async def test_an_agent_that_asked_a_person_goes_on_elsewhere(
    lab: Lab, go: Any, shape: str, way: str, inner: str
) -> None:
    store, saver = MemoryStore(), InMemorySaver()
    ask = asks_a_person(lab)
    said = [
        lab.adds("x"),
        lab.asks(lab.call("ask", "q", question="sure?")),
        lab.adds("y"),
        AIMessage("done"),
    ]
    script = outer_script(lab, lab.call("one", "1", task="t"))
    for given in (go, Command(resume="yes")):
        world = await world_in(store, lab)
        real = [helper(lab, world, "one", said, inner=inner, real=[ask]), ask]
        graph = SHAPES[shape](Setting(lab, world, script, saver, real))
        final = await run(graph, way, given, lab.thread())
    assert lab.answers(final)[1] == "a,z"
    assert sorted(lab.answered) == ["a", "x", "y", "z", "zz"]
    # What has a task of its own does not wait for a person.
    everything = lab.answers(final)[-1]
    assert everything in ("a,z,x,y,zz", "a,z,x,zz,y")
    assert lab.answers(final)[2] == f"a,z,x;sure? yes;{everything.partition('y')[0]}y"


@WAYS
@pytest.mark.parametrize("shape", ["channel", "sent_marks", "functional", "subgraph"])
@pytest.mark.parametrize("inner", ["node", "middleware"])
@pytest.mark.parametrize("swallows", [False, True])
async def test_a_failure_inside_of_an_agent_stops_the_run_and_never_becomes_an_answer(
    lab: Lab, go: Any, shape: str, way: str, inner: str, swallows: bool
) -> None:
    store, saver = MemoryStore(), InMemorySaver()
    script = outer_script(lab, lab.call("one", "1", task="t"))
    handles: dict[str, Any] = {"handle_tool_errors": True}

    async def graph() -> Any:
        world = await world_in(store, lab)
        said = [lab.adds("x"), lab.adds("y"), AIMessage("done")]
        real = [helper(lab, world, "one", said, inner=inner, swallows=swallows)]
        return SHAPES[shape](Setting(lab, world, script, saver, real, handles))

    lab.down.add("y")
    with pytest.raises(SimulationInterrupted, match="no answer for y"):
        await run(await graph(), way, go, lab.thread())
    assert lab.answered == ["a", "z", "x", "y"]
    lab.down.clear()
    final = await run(await graph(), way, None, lab.thread())
    assert lab.answered == ["a", "z", "x", "y", "y", "zz"]
    assert lab.answers(final)[1:] == ["a,z", "a,z,x;a,z,x,y", "a,z,x,y,zz", "a,z,x,y,zz"]
