"""What a simulated tool adds to a tool call in a graph.

The alternative is a plain `ToolNode` around a Python function that does nothing. Ours answers the same
function from a world, so the difference is all there is between an agent and its world: the node, the
way into the event loop, the step, its commit in memory. The second pair runs a command in the embedded
shell beside one that starts a real process, as a real shell tool would.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from typing import Any, cast

from langchain_core.messages import AIMessage
from langchain_core.tools import StructuredTool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode

from agentworld_graphs import SimState, SimToolNode
from agentworld_sim import FunctionEngine, Scenario, World
from agentworld_sim.runtime.sync import run_sync
from benchmarks._rows import Row, p50_ms, p50_ms_async, run

TARGET_MS = 1.0

EMPTY = Scenario.model_validate({"name": "empty", "domains": ["terminal"], "tools": ["terminal"]})


class State(MessagesState, SimState):
    """Messages, and where the thread stands in its world."""


def noop(command: str) -> str:
    """Does nothing."""
    return ""


def process(command: str) -> str:
    """Runs a command."""
    return subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, check=False
    ).stdout.decode()


def graph_of(node: ToolNode) -> Any:
    """A graph of the node alone."""
    graph: Any = StateGraph(State)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    return graph.compile()


def tool_named(name: str, function: Callable[[str], str]) -> StructuredTool:
    return StructuredTool.from_function(function, name=name)


class Thread:
    """A conversation that makes the same call again and again, each from where the last one ended."""

    def __init__(self, node: ToolNode, name: str) -> None:
        self._graph = graph_of(node)
        call = {"name": name, "args": {"command": "true"}, "id": "1", "type": "tool_call"}
        self._given: dict[str, Any] = {"messages": [AIMessage("", tool_calls=[cast("Any", call)])]}

    def call(self) -> None:
        self._go_on(self._graph.invoke(self._given))

    async def call_async(self) -> None:
        self._go_on(await self._graph.ainvoke(self._given))

    def _go_on(self, state: Mapping[str, Any]) -> None:
        self._given["sim_ref"] = state.get("sim_ref", "")


def rows() -> list[Row]:
    """Sync and async, without and with the shell."""
    return run(_rows())


async def _rows() -> list[Row]:
    plain = Thread(ToolNode([tool_named("noop", noop)]), "noop")
    engine = FunctionEngine({"noop": lambda _arguments, _values: ""})
    empty = run_sync(World.create(EMPTY, engines=[engine]))
    ours = Thread(SimToolNode([tool_named("noop", noop)], world=empty), "noop")
    sync_ours, sync_plain = p50_ms(ours.call), p50_ms(plain.call)
    async_ours, async_plain = (
        await p50_ms_async(ours.call_async),
        await p50_ms_async(plain.call_async),
    )
    real = Thread(ToolNode([tool_named("bash", process)]), "bash")
    machine = run_sync(World.create(EMPTY))
    shell = Thread(SimToolNode([tool_named("bash", process)], world=machine), "bash")
    return [
        _added("tool call in a graph, sync", sync_ours, "the same in a plain ToolNode", sync_plain),
        _added(
            "tool call in a graph, async", async_ours, "the same in a plain ToolNode", async_plain
        ),
        Row(
            name="`true` by an agent's shell tool",
            ours=p50_ms(shell.call),
            alternative="a real /bin/sh",
            theirs=p50_ms(real.call),
        ),
    ]


def _added(name: str, ours: float, alternative: str, theirs: float) -> Row:
    return Row(
        name=name,
        ours=ours,
        alternative=alternative,
        theirs=theirs,
        target=f"adds less than {TARGET_MS:g} ms",
        met=ours - theirs < TARGET_MS,
    )
