"""`simulate_graph`: a graph that cannot be edited, with a world behind its tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager
from functools import cache, partial
from itertools import islice
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Unpack, cast

from langchain.agents.middleware import AgentMiddleware, ShellToolMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence
from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel  # pyright: ignore[reportMissingTypeStubs]  a namespace
from langgraph.pregel.remote import (  # pyright: ignore[reportMissingTypeStubs]  a namespace
    RemoteGraph,
)

from agentworld_graphs._run_context import (
    SimulationWatch,
    is_simulated,
    reach_all_nodes,
    reach_called_tools,
    reach_nested_nodes,
    running,
    watch_of,
)
from agentworld_graphs._thread_refs import HIDDEN_CHANNEL, TipsChannel
from agentworld_graphs._tool_selection import Refusals, ToolSelection
from agentworld_graphs._world_handle import ToolOptions
from agentworld_graphs.langchain_tool_specs import (
    REASON,
    is_control_tool,
    provider_side,
    provider_side_in,
    refusal_of,
    starts_real_shell,
)
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
def _class_with_world(kind: type[Pregel[Any, Any, Any, Any]]) -> type[SimulatedGraph]:
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
    made: Any = graph.copy({"channels": {**channels, HIDDEN_CHANNEL: TipsChannel()}})
    made = made.with_config(callbacks=[SimulationWatch(choice, seen=found.found)])
    made.__class__ = _class_with_world(made.__class__)
    return made


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


MCP_CLIENTS = ("mcp.client.", "langchain_mcp_adapters.client", "langchain_mcp_adapters.sessions")
"""Where clients of MCP servers are defined."""

DISK_BACKENDS = (
    "deepagents.backends.filesystem",
    "deepagents.backends.local_shell",
    "deepagents.backends.sandbox",
    "deepagents.backends.langsmith",
)
"""Where deepagents' backends are defined that work on real files or run real commands."""

AGENT_FACTORIES = ("langchain.agents.factory", "langgraph.prebuilt.chat_agent_executor")
"""Where the functions of prebuilt agents are defined. They keep dicts of provider-side tools."""

LIBRARIES = ("langchain", "langgraph", "langsmith", "deepagents", "agentworld")
"""Whose functions are known to hold nothing of the user's in global names."""

# Generic classes, tested for without their parameters.
BINDING: Any = RunnableBinding
GRAPH: Any = Pregel
PARTIAL: Any = partial
MIDDLEWARE: Any = AgentMiddleware
RUNNABLE: Any = Runnable
SEQUENCE: Any = RunnableSequence

DEPTH = 12
"""How far the search follows what things hold."""

GLOBAL = 4
"""How much of that a global name costs: a function leads to others, and those to whole libraries."""

MOST = 1000
"""How many entries of one collection are looked at."""


def reachable(start: Any, seen: dict[int, Any]) -> Iterator[Any]:
    """All that `start` holds and that matters: tool nodes, models, middleware, clients, graphs.

    Follows nodes of graphs, steps of sequences, closures and those global names that a function reads. What was
    visited is added to `seen`, by identity; that keeps things alive, for identities are reused.
    """
    waiting: list[tuple[Any, int]] = [(start, 0)]
    while waiting:
        one, depth = waiting.pop()
        if id(one) in seen or depth > DEPTH:
            continue
        seen[id(one)] = one
        yield one
        waiting += [(held, depth + 1) for held in _contents_of(one)]
        if isinstance(one, FunctionType):
            waiting += [(held, depth + GLOBAL) for held in _globals_of(one)]


def trouble_of(one: Any) -> str | None:
    """Why something cannot be part of a simulated graph; `None` when it can."""
    kind = type(cast("object", one))
    if isinstance(one, ShellToolMiddleware):
        return REASON
    if isinstance(one, RemoteGraph):
        return "it calls a graph on another server, whose tools are out of reach."
    if kind.__module__.startswith(MCP_CLIENTS):
        return (
            f"it holds a client of an MCP server ({kind.__name__}), whose calls do not pass through a"
            " tool node. Make tools of it and give them to a ToolNode."
        )
    if kind.__module__.startswith(DISK_BACKENDS):
        return (
            f"its backend {kind.__name__} works on real files. Give it one that works in the world:"
            " SimulatedSandbox(), or SimulatedSandbox.with_files_of(backend) to begin with its files."
        )
    if isinstance(one, (BaseChatModel, BINDING)):
        names = provider_side_in(cast("object", one))
        return refusal_of(names[0]) if names else None
    if isinstance(one, _DictTool):
        return refusal_of(one.name)
    return None


def own_method_of(tool: BaseTool) -> str | None:
    """The method of a tool's own class that runs it past LangChain's `run`; `None` where there is none."""
    for name in ("invoke", "ainvoke", "run", "arun"):
        home = next(kind for kind in type(tool).__mro__ if name in vars(kind))
        if not home.__module__.startswith(LIBRARIES):
            return name
    return None


class _DictTool:
    """A provider-side tool that an agent keeps as a dict."""

    def __init__(self, name: str) -> None:
        self.name = name


def _contents_of(one: Any) -> list[Any]:
    if isinstance(one, ToolNode):
        hooks: Any = one
        wrappers = [hooks._wrap_tool_call, hooks._awrap_tool_call]
        # A tool's own function is what is not run, save where it only steers the agent.
        return [*wrappers, *(tool for tool in one.tools_by_name.values() if is_control_tool(tool))]
    if isinstance(one, GRAPH):
        return [node.bound for node in one.nodes.values()]
    if isinstance(one, BaseTool):
        return (
            [getattr(one, name, None) for name in ("func", "coroutine")]
            if is_control_tool(one)
            else []
        )
    if isinstance(one, SEQUENCE):
        return list(one.steps)
    if isinstance(one, BINDING):
        return [one.bound]
    if isinstance(one, MethodType):
        return [one.__self__, one.__func__, *_tools_of(one.__self__)]
    if isinstance(one, PARTIAL):
        return [one.func, *one.args, *one.keywords.values()]
    if isinstance(one, FunctionType):
        return _held_by_function(one)
    if isinstance(one, MIDDLEWARE):
        return [getattr(one, name, None) for name in ("backend", "_backend")]
    if _is_composite(one):
        return [one.default, *one.routes.values()]
    if isinstance(one, dict):
        return list(islice(cast("dict[str, Any]", one).values(), MOST))
    if isinstance(one, list | tuple | set | frozenset):
        return list(islice(cast("Sequence[Any]", one), MOST))
    if isinstance(one, RUNNABLE):
        # LangGraph's own runnables of functions, sequences and branches.
        names = (
            "func",
            "afunc",
            "steps",
            "bound",
            "first",
            "middle",
            "last",
            "branches",
            "default",
        )
        return [getattr(one, name, None) for name in names]
    # A task of the functional API, or an object of the user's that is called like a function.
    if type(cast("object", one)).__module__ == "langgraph.func":
        return [getattr(one, "func", None)]
    return _tools_of(one) if callable(one) and not isinstance(one, type) else []


def _tools_of(one: Any) -> list[Any]:
    """What an object of the user's keeps of tools and agents, and its `__call__`."""
    kind = type(cast("object", one))
    if kind.__module__.startswith(LIBRARIES):
        return []
    kept: Mapping[str, Any] = getattr(one, "__dict__", {})
    wanted = (BaseTool, ToolNode, GRAPH, dict, list, tuple)
    held = [value for value in kept.values() if isinstance(value, wanted)]
    return [*held, vars(kind).get("__call__")]


def _held_by_function(function: FunctionType) -> list[Any]:
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            continue
    held = list(cells.values())
    if function.__module__ in AGENT_FACTORIES:
        held += _dict_tools(cells)
    wrapped = getattr(function, "__wrapped__", None)
    return [*held, wrapped] if wrapped is not None else held


def _globals_of(function: FunctionType) -> list[Any]:
    """What a function of the user's reads by a global name."""
    known = function.__globals__
    if function.__module__.startswith(LIBRARIES):
        return []
    return [known[name] for name in function.__code__.co_names if name in known]


def _dict_tools(cells: Mapping[str, Any]) -> list[_DictTool]:
    names = ("default_tools", "built_in_tools", "llm_builtin_tools")
    found = [tool for name in names for tool in cells.get(name) or ()]
    return [_DictTool(side) for tool in found if (side := provider_side(tool)) is not None]


def _is_composite(one: Any) -> bool:
    return type(one).__module__ == "deepagents.backends.composite" and hasattr(one, "routes")


class GraphInspection:
    """What was found in a graph."""

    def __init__(self, choice: ToolSelection) -> None:
        self._choice = choice
        self.refusals = Refusals()
        self._nodes: list[ToolNode] = []
        self._called: list[BaseTool] = []
        """Tools that functions hold, and may call themselves."""
        self._seen: dict[int, Any] = {}

    def bind(self) -> None:
        """Binds the tools of all nodes that were found, before anything runs: together, for one agent
        may change the records that another reads.

        Raises:
            UsageError: the simulation names tools that no node has.
        """
        tools = [tool for node in self._nodes for tool in node.tools_by_name.values()]
        if tools:
            self._choice.require_known(tool.name for tool in [*tools, *self._called])
        real = [node for node in self._nodes if not is_simulated(node)]
        inside = [tool for node in real for tool in node.tools_by_name.values()]
        names = {tool.name for tool in tools}
        self._choice.offer([*inside, *(tool for tool in self._called if tool.name not in names)])
        for node in real:
            own = list(node.tools_by_name.values())
            self.refusals.lines += [shell for tool in own if (shell := starts_real_shell(tool))]
            self._choice.all_of(own, self.refusals)

    @property
    def found(self) -> bool:
        """Whether there is anything to simulate, as far as can be seen before the graph runs."""
        return bool(self._nodes or self._called)

    def search(self, graph: Any) -> None:
        """Looks for what cannot be simulated in what the nodes of a graph hold, nested agents included."""
        for name, node in graph.nodes.items():
            if isinstance(node.bound, GRAPH):
                self.search(node.bound)
            else:
                self._search(node.bound, where=name)

    def _search(self, start: Any, *, where: str) -> None:
        for one in reachable(start, self._seen):
            if isinstance(one, ToolNode):
                self._nodes.append(one)
            elif isinstance(one, BaseTool):
                self._called.append(one)
                method = own_method_of(one)
                if method is not None and not self._choice.may_run(one.name):
                    self.refusals.lines.append(
                        f"the node {where!r} calls the tool {one.name!r}, whose class has a"
                        f" {method!r} of its own that nothing can take the place of. Define `_run`"
                        " and `_arun` instead, give the tool to a ToolNode, or let it run"
                        f" (access={{{one.name!r}: 'real'}})."
                    )
            elif (reason := trouble_of(one)) is not None:
                self.refusals.lines.append(f"the node {where!r}: {reason}")
