"""Cassettes behind a graph."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool  # pyright: ignore[reportUnknownVariableType]
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)

from agentworld_graphs import SimToolNode, SimulationInterrupted
from agentworld_sim.cassette import CassetteMode
from tests.cassette.lab import Recording, Studio, numbered


@tool
def forecast(city: str) -> str:
    """The weather in a city."""
    raise AssertionError("the real tool ran")


def _graph(one: Recording) -> Any:
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", SimToolNode([forecast], world=one.world))
    graph.add_edge(START, "tools")
    return graph.compile()


def _asking(*cities: str) -> dict[str, Any]:
    calls: list[Any] = [
        {"name": "forecast", "args": {"city": city}, "id": str(number), "type": "tool_call"}
        for number, city in enumerate(cities)
    ]
    return {"messages": [AIMessage("", tool_calls=calls)]}


async def test_parallel_calls_of_a_graph_are_replayed(studio: Studio) -> None:
    said: list[list[Any]] = []
    modes: tuple[CassetteMode, ...] = ("once", "replay")
    for mode in modes:
        async with studio.open(mode, numbered if mode == "once" else None, tools=()) as one:
            state = await _graph(one).ainvoke(_asking("Bern", "Basel", "Bern"))
            said.append([one.content for one in state["messages"] if isinstance(one, ToolMessage)])
            await one.end()
    assert said[0] == said[1] == ["answer 0", "answer 1", "answer 2"]


async def test_a_miss_interrupts_the_graph_and_is_no_message(studio: Studio) -> None:
    async with studio.open("once", numbered, tools=()) as one:
        await _graph(one).ainvoke(_asking("Bern"))
        await one.end()
    async with studio.open("replay", tools=()) as one:
        with pytest.raises(SimulationInterrupted, match='city: recorded "Bern", now "Basel"'):
            await _graph(one).ainvoke(_asking("Basel"))
