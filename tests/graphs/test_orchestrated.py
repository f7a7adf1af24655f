"""Agents that functions of a graph call, as plans are executed: nothing of them is in its own state."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Annotated, Any, cast

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    entrypoint,
    task,
)
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    END,
    START,
    StateGraph,
)
from langgraph.types import Send
from typing_extensions import TypedDict

from agentworld_graphs import ScriptedChatModel, simulate_graph

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


class Plan(TypedDict):
    """What is to be done, and what was."""

    steps: list[str]
    done: Annotated[list[str], operator.add]


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def worker(lab: Lab) -> Any:
    """An agent that adds one letter, as its model is told, and gives what it was answered."""

    def work(step: str) -> str:
        model = ScriptedChatModel(script=[lab.adds(step), AIMessage("done")])
        agent = lab.create_agent(model, lab.tools())
        return lab.answers(agent.invoke({"messages": [("user", step)]}))[-1]

    return work


def plan(lab: Lab) -> Any:
    """A graph of which every step calls an agent."""
    work = worker(lab)

    def execute(state: Plan) -> Any:
        step, *others = state["steps"]
        return {"steps": others, "done": [work(step)]}

    def goes_on(state: Plan) -> str:
        return "execute" if state["steps"] else END

    builder: Any = StateGraph(Plan)
    builder.add_node("execute", execute)
    builder.add_edge(START, "execute")
    builder.add_conditional_edges("execute", goes_on, ["execute", END])
    return builder.compile(checkpointer=InMemorySaver())


@WAYS
async def test_each_step_finds_what_the_one_before_it_did(lab: Lab, way: str) -> None:
    graph: Any = simulate_graph(plan(lab), lab.world())
    final = await run(graph, way, {"steps": ["a", "b", "c"], "done": []}, lab.thread())
    assert final == {"steps": [], "done": ["a", "a,b", "a,b,c"]}
    other = await run(graph, way, {"steps": ["x"], "done": []}, lab.thread("other"))
    assert other["done"] == ["x"]
    assert graph.get_state(lab.thread()).values == final
    assert lab.ran == []


@WAYS
async def test_going_back_takes_the_world_along(lab: Lab, way: str) -> None:
    graph: Any = simulate_graph(plan(lab), lab.world())
    final = await run(graph, way, {"steps": ["a", "b", "c"], "done": []}, lab.thread())
    history = [one for one in graph.get_state_history(lab.thread()) if one.next == ("execute",)]
    for snapshot in history:
        assert await run(graph, way, None, snapshot.config) == final
    forked = graph.update_state(history[0].config, {"steps": ["z"]})
    assert (await run(graph, way, None, forked))["done"] == ["a", "a,b", "a,b,z"]


@WAYS
async def test_several_agents_in_one_function_work_one_after_the_other(lab: Lab, way: str) -> None:
    work = worker(lab)

    def execute(state: Plan) -> Any:
        return {"done": [work(step) for step in state["steps"]]}

    builder: Any = StateGraph(Plan)
    builder.add_node("execute", execute)
    builder.add_edge(START, "execute")
    graph: Any = simulate_graph(builder.compile(), lab.world())
    final = await run(graph, way, {"steps": ["a", "b"], "done": []})
    assert final["done"] == ["a", "a,b"]


@WAYS
async def test_agents_side_by_side_each_begin_where_the_step_began(lab: Lab, way: str) -> None:
    work = worker(lab)

    def execute(step: str) -> Any:
        return {"done": [work(step)]}

    def send(state: Plan) -> list[Send]:
        return [Send("execute", step) for step in state["steps"]]

    builder: Any = StateGraph(Plan)
    builder.add_node("execute", execute)
    builder.add_conditional_edges(START, send, ["execute"])
    graph: Any = simulate_graph(builder.compile(), lab.world())
    final = await run(graph, way, {"steps": ["a", "b"], "done": []})
    assert final["done"] == ["a", "b"]


def test_tasks_of_the_functional_api_may_call_agents(lab: Lab) -> None:
    work = cast("Any", task)(worker(lab))

    def orchestrate(steps: list[str]) -> list[str]:
        return [work(step).result() for step in steps]

    compiled: Any = cast("Any", entrypoint)(checkpointer=InMemorySaver())(orchestrate)
    graph: Any = simulate_graph(compiled, lab.world())
    assert graph.invoke(["a"], lab.thread()) == ["a"]
    assert lab.ran == []
