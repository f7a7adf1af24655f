"""`simulate_graph`: a graph that cannot be edited, with a world behind its tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import aclosing, closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack, cast

from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs]  a namespace

from agentworld_graphs._graph_inspection import GraphInspection
from agentworld_graphs._run_context import (
    SimulationWatch,
    reach_all_nodes,
    reach_called_tools,
    reach_nested_nodes,
    running,
    watch_of,
)
from agentworld_graphs._thread_refs import HIDDEN_CHANNEL, TipsChannel
from agentworld_graphs._tool_selection import ToolSelection
from agentworld_graphs._world_handle import ToolOptions
from agentworld_sim import UsageError, World
from agentworld_sim.supports_world import HoldsWorld

NOTHING = (
    "the graph has run, and there was nothing in it that a world could answer: no tool node, no agent and"
    " no tool was found or called. A plain Python function that acts by itself is out of reach: make a"
    " tool of what it does (`@tool`) and call that, or test it with the pytest plugin's guard on."
)


class SimulatedGraph(Pregel[Any, Any, Any, Any]):
    """What `simulate_graph` makes: also of the class of the graph that it is a copy of.

    A run in which there was nothing to simulate ends with a `UsageError`.
    """

    @property
    def world(self) -> World:
        """The world that answers."""
        return self._watch.choice.world

    if not TYPE_CHECKING:
        # A context variable set for the whole run would be seen by whoever reads the stream.
        def stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
            """As for every graph."""
            with reach_called_tools(), closing(super().stream(*args, **kwargs)) as steps:
                while True:
                    with running(self._watch):
                        step = next(steps, _END)
                    if step is _END:
                        return self._require_seen()
                    yield step

        async def astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            """As for every graph."""
            with reach_called_tools():
                async with aclosing(super().astream(*args, **kwargs)) as steps:
                    while True:
                        with running(self._watch):
                            step = await anext(steps, _END)
                        if step is _END:
                            break
                        yield step
            self._require_seen()

    def _require_seen(self) -> None:
        if not self._watch.seen:
            raise UsageError(NOTHING)

    @property
    def _watch(self) -> SimulationWatch:
        return cast("SimulationWatch", watch_of((self.config or {}).get("callbacks")))


_END = object()


@cache
def _simulated(kind: type[Pregel[Any, Any, Any, Any]]) -> type[SimulatedGraph]:
    """A class of graphs, with a world."""
    if issubclass(kind, SimulatedGraph):
        return kind
    return type(kind.__name__, (SimulatedGraph, kind), {"__module__": kind.__module__})


def simulate_graph(
    graph: Pregel[Any, Any, Any, Any],
    world: World | HoldsWorld | str | None = None,
    **options: Unpack[ToolOptions],
) -> SimulatedGraph:
    """The same compiled graph, whose tools a world answers. The graph itself is left as it is.

    Tool nodes are found in the graph, in its subgraphs, and while it runs in agents that tools and
    functions call: what `create_agent`, `create_react_agent` and `create_deep_agent` make, with their
    subagents. Wrappers and middleware stay around the calls. Tools that functions call themselves are
    answered, too.

    Args:
        graph: A compiled graph.
        world: The world that answers, or what holds it; the id of one in `store`; or nothing, for a
            fresh one.
        options: `scenario`, `store`, `model`, `controls`, `answers`, `access` and `binds_to`, as
            `ToolOptions` says.

    Raises:
        AccessRefused: something in the graph would act on the real world: tools that bind to nothing,
            provider-side tools, a middleware that starts a real shell, a backend on the real disk, a
            graph on another server. All are named. What only shows while the graph runs, a tool of a
            function that binds to nothing for example, fails the run before it happens.
        UsageError: it is no compiled graph, or an option names what is not there.
    """
    if not isinstance(graph, Pregel):  # pyright: ignore[reportUnnecessaryIsInstance]  users err
        raise UsageError(
            f"simulate_graph takes a compiled graph, not {type(graph).__name__!r}. Compile it first"
            " (`builder.compile()`)."
        )
    choice = ToolSelection(world, **options)
    found = GraphInspection(choice)
    found.search(graph)
    found.bind()
    found.refusals.raise_if_any(
        consequence="no graph was made", title="not everything in the graph would be simulated"
    )
    reach_nested_nodes()
    channels = cast("dict[str, Any]", graph.channels)  # pyright: ignore[reportUnknownMemberType]
    made = graph.copy({"channels": {**channels, HIDDEN_CHANNEL: TipsChannel()}})
    made = made.with_config(callbacks=[SimulationWatch(choice, seen=found.found)])
    copied = cast("SimulatedGraph", made)
    copied.__class__ = _simulated(type(copied))
    return copied


@contextmanager
def simulate_tool_nodes(
    world: World | HoldsWorld | str | None = None,
    **options: Unpack[ToolOptions],
) -> Generator[World]:
    """Within it, a world answers the calls of every `ToolNode` of the process.

    For agents that cannot be reached in any other way. It replaces methods of LangGraph's `ToolNode`
    while it lasts, in all threads. Tools that are called without a tool node are not reached.

    Args:
        world: As for `simulate_graph`.
        options: As for `simulate_graph`.

    Yields:
        The world that answers.

    Raises:
        UsageError: this version of LangGraph cannot be reached, or the world is not there.
    """
    choice = ToolSelection(world, **options)
    with reach_all_nodes(choice):
        yield choice.world
