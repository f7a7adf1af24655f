"""What every adapter takes: a scenario, controls and answers of its world, and where the world is then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import langchain.agents
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  a namespace
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode

from agentworld_graphs import (
    ScriptedChatModel,
    SimToolNode,
    SimulatedTools,
    SimulationInterrupted,
    simulate,
    simulate_graph,
)
from agentworld_graphs.ready import Agent, react
from agentworld_sim import AccessRefused, Scenario, ToolSpec, UsageError, World, WorldState
from agentworld_sim.controls import Control, Fault, Next, StepContext
from agentworld_sim.ports import Answer

create_agent: Any = cast("Any", langchain.agents).create_agent


@tool
def get_weather(city: str) -> str:
    """What the weather is like."""
    raise AssertionError("the real tool ran")


@tool
def bash(command: str) -> str:
    """Runs a command."""
    raise AssertionError("the real tool ran")


CALLS: list[Any] = [
    {"name": "get_weather", "args": {"city": "Oslo"}, "id": "1", "type": "tool_call"},
    {"name": "bash", "args": {"command": "cat /srv/note"}, "id": "2", "type": "tool_call"},
]
SCENARIO = Scenario.model_validate(
    {"name": "note", "domains": ["terminal"], "files": {"/srv/note": "buy milk"}}
)


def script() -> ScriptedChatModel:
    return ScriptedChatModel(script=[AIMessage("", tool_calls=CALLS), AIMessage("done")])


def with_node(**options: Any) -> tuple[World, Any]:
    node = SimToolNode([get_weather, bash], **options)
    return node.world, _graph(node)


def with_middleware(**options: Any) -> tuple[World, Any]:
    middleware = SimulatedTools(**options)
    tools = [get_weather, bash]
    return middleware.world, create_agent(script(), tools, middleware=[middleware])


def with_graph(**options: Any) -> tuple[World, Any]:
    graph = simulate_graph(_graph(ToolNode([get_weather, bash])), **options)
    return graph.world, graph


def with_tools(*, answers: Mapping[str, object], **options: Any) -> tuple[World, Any]:
    first = simulate(get_weather, answers=answers, **options)
    return first.world, _graph(ToolNode([first, simulate(bash, first)]))


def _graph(node: Any) -> Any:
    made: Any = StateGraph(MessagesState)
    made.add_node("tools", node)
    made.set_entry_point("tools")
    made.set_finish_point("tools")
    return made.compile()


FACES = [with_node, with_middleware, with_graph, with_tools]
Face = Callable[..., tuple[World, Any]]


async def run(graph: Any, way: str) -> list[str]:
    given = {"messages": [HumanMessage("go"), *([AIMessage("", tool_calls=CALLS)])]}
    if "model" in graph.nodes:
        given = {"messages": [HumanMessage("go")]}
    if way == "invoke":
        state = await asyncio.to_thread(graph.invoke, given)
    else:
        state = await graph.ainvoke(given)
    return [str(one.content) for one in state["messages"] if isinstance(one, ToolMessage)]


async def forecast(city: str) -> dict[str, str]:
    return {"city": city, "sky": "clear"}


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("face", FACES)
async def test_the_world_is_of_the_scenario_and_has_the_answers(face: Face, way: str) -> None:
    world, graph = face(scenario=SCENARIO, answers={"get_weather": forecast})
    assert await run(graph, way) == ['{"city": "Oslo", "sky": "clear"}', "buy milk"]
    assert world.scenario.name == "note"


@pytest.mark.parametrize("face", FACES)
async def test_controls_are_those_of_the_new_world(face: Face) -> None:
    fault = Fault(name="full", tool="bash", error="no space left on device")
    _, graph = face(controls=[fault], answers={"get_weather": "rain"})
    assert await run(graph, "ainvoke") == ["rain", "no space left on device\n"]


@pytest.mark.parametrize("face", FACES[:3])
async def test_answers_are_given_to_a_world_that_is_there(face: Face) -> None:
    world = await World.create(SCENARIO)
    _, graph = face(world=world, answers={"get_weather": KeyError("no such city")})
    assert (await run(graph, "ainvoke"))[0] == "'no such city'"


@pytest.mark.parametrize("face", [with_node, with_graph])
def test_an_answer_for_no_tool_is_refused(face: Face) -> None:
    with pytest.raises(UsageError, match=r"'get_wether'.*Did you mean 'get_weather'"):
        face(answers={"get_wether": "rain"})


async def test_the_middleware_refuses_an_answer_for_no_tool_before_anything_is_called() -> None:
    answers = {"get_weather": "rain", "send": "sent"}
    with pytest.raises(SimulationInterrupted, match="answers names 'send'"):
        await run(with_middleware(answers=answers)[1], "ainvoke")


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(UsageError, match="the tool is 'bash'"):
        simulate(bash, answers={"get_weather": "rain"})
    with pytest.raises(UsageError, match=r"access\['bash'\] is 'real', and answers has"):
        SimToolNode([bash], access={"bash": "real"}, answers={"bash": "x"})
    with pytest.raises(UsageError, match="controls=… goes with a world that is made"):
        SimToolNode([bash], world=World.create_sync(), controls=[Fault(name="x", tool="bash")])
    with pytest.raises(AccessRefused, match=r"answers=\{'get_weather': …\}"):
        SimToolNode([get_weather])


class Renamed(Control):
    """Withholds one tool, and describes another in other words."""

    name = "renamed"

    def describe(self) -> str:
        return ""

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step)

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        return [replace(one, description="Out of order.") for one in specs if one.name != "bash"]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_the_agent_s_model_is_told_of_the_tools_that_the_world_lists(way: str) -> None:
    seen: list[list[tuple[str, str]]] = []

    class Model(ScriptedChatModel):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            seen.append([(one.name, one.description) for one in tools])
            return super().bind_tools(tools, **kwargs)

    simulated = SimulatedTools(controls=[Renamed()], answers={"get_weather": "rain"})
    agent = create_agent(
        Model(script=[AIMessage("done")]), [get_weather, bash], middleware=[simulated]
    )
    await run(agent, way)
    assert seen == [[("get_weather", "Out of order.")]]


async def test_a_ready_graph_takes_them_for_the_worlds_of_its_threads() -> None:
    fault = Fault(name="full", tool="bash", error="no space left on device")
    who = Agent(
        tools=[get_weather, bash],
        scenario=SCENARIO,
        script=[AIMessage("", tool_calls=CALLS), AIMessage("done")],
        answers={"get_weather": forecast},
        controls=[fault],
    )
    state = await react.build(who).ainvoke({"messages": []})
    answers = [one.content for one in state["messages"] if isinstance(one, ToolMessage)]
    assert answers == ['{"city": "Oslo", "sky": "clear"}', "no space left on device\n"]
    assert (await who.world(state)).id == state["world"]
