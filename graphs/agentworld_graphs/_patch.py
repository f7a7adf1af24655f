"""Reaches the tool nodes that a graph does not show, those of agents inside tools and functions, and
the tools that functions call themselves.

This replaces `ToolNode._run_one` and `ToolNode._arun_one` for the whole process: private parts of
LangGraph, pinned by a canary test. A node that is not part of a simulation goes its usual way. Should
LangGraph change, nothing real runs: `SimulationWatch` stops the tools that are not swapped. While a
simulated run lasts, LangChain's `BaseTool.run` and `BaseTool.arun` are replaced as well; what is called
outside of that run goes its usual way.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from langchain_core.tools import BaseTool
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest

from agentworld_graphs._watch import tool_in_place_of, watches_in
from agentworld_sim import UsageError

if TYPE_CHECKING:
    from agentworld_graphs._access import Choice

METHODS = ("_run_one", "_arun_one")
PARAMETERS = ["self", "call", "input_type", "tool_runtime"]

_guard = threading.Lock()
_originals: dict[str, Any] = {}
_everywhere: list[Choice] = []
"""Simulations of every tool node of the process; the last one counts."""
_stays = False
_shadows: WeakKeyDictionary[ToolNode, tuple[Choice, ToolNode]] = WeakKeyDictionary()
_runs = 0
"""How many simulated runs last."""
_replaced: list[tuple[str, Any, Any]] = []
"""Of `BaseTool`: a method's name, what it was, what took its place."""


@contextmanager
def reach_called_tools() -> Generator[None]:
    """While it lasts, tools look whether they are called in a simulation."""
    global _runs
    with _guard:
        _runs += 1
        if _runs == 1:
            _replace_runs()
    try:
        yield
    finally:
        with _guard:
            _runs -= 1
            if _runs == 0:
                _put_back_runs()


def _replace_runs() -> None:
    run, arun = BaseTool.run, BaseTool.arun

    @wraps(run)
    def run_or_ask(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        tool = tool_in_place_of(self, kwargs.get("callbacks"))
        if tool is self:
            return run(self, tool_input, *args, **kwargs)
        return tool.run(tool_input, *args, **kwargs)

    @wraps(arun)
    async def arun_or_ask(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        tool = tool_in_place_of(self, kwargs.get("callbacks"))
        if tool is self:
            return await arun(self, tool_input, *args, **kwargs)
        return await tool.arun(tool_input, *args, **kwargs)

    for name, original, ours in (("run", run, run_or_ask), ("arun", arun, arun_or_ask)):
        setattr(BaseTool, name, ours)
        _replaced.append((name, original, ours))


def _put_back_runs() -> None:
    for name, original, ours in _replaced:
        # Somebody may have put something on top, which ours stays under: it changes nothing there.
        if getattr(BaseTool, name) is ours:
            setattr(BaseTool, name, original)
    _replaced.clear()


def reach_nested_nodes() -> None:
    """From now on tool nodes look whether they run in a simulation, if this LangGraph lets us."""
    global _stays
    with _guard, suppress(UsageError):
        _install()
        _stays = True


def enter_everywhere(choice: Choice) -> None:
    """Every tool node of the process is part of this simulation, until it leaves.

    Raises:
        UsageError: this version of LangGraph does not let us.
    """
    with _guard:
        _install()
        _everywhere.append(choice)


def leave_everywhere(choice: Choice) -> None:
    """Ends `enter_everywhere`."""
    with _guard:
        _everywhere.remove(choice)
        if not _everywhere and not _stays:
            for name, original in _originals.items():
                setattr(ToolNode, name, original)
            _originals.clear()


def shadow(node: ToolNode, choice: Choice) -> ToolNode:
    """A copy of a tool node whose calls a world answers. The user's wrappers stay around them."""
    from agentworld_graphs._intercept import Interceptor

    made: Any = copy.copy(node)
    given: Any = node
    interceptor = Interceptor(choice, messages_key=given._messages_key)
    wrapper, async_wrapper = given._wrap_tool_call, given._awrap_tool_call

    def wrap(request: ToolCallRequest, execute: Any) -> Any:
        return interceptor.run(request, execute, wrapper)

    async def wrap_async(request: ToolCallRequest, execute: Any) -> Any:
        return await interceptor.arun(request, execute, wrapper, async_wrapper)

    made._wrap_tool_call, made._awrap_tool_call = wrap, wrap_async
    # What a node calls is bound to the node it was made for.
    made.func, made.afunc = made._func, made._afunc
    made._agentworld_simulated = True
    return made


def is_simulated(node: ToolNode) -> bool:
    """Whether the calls of a tool node are answered by a world already."""
    return bool(getattr(node, "_agentworld_simulated", False))


def _install() -> None:
    if _originals:
        return
    for name in METHODS:
        method = getattr(ToolNode, name, None)
        if method is None or list(inspect.signature(method).parameters) != PARAMETERS:
            raise UsageError(
                f"this version of langgraph has no ToolNode.{name}({', '.join(PARAMETERS)}), through"
                " which tool nodes inside of tools are reached. Use a version that the extra 'graphs'"
                " allows, or simulate the tools one by one (simulate(tool, world))."
            )
    for name in METHODS:
        _originals[name] = getattr(ToolNode, name)
    run_one, arun_one = (_originals[name] for name in METHODS)

    def _run_one(self: ToolNode, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        return run_one(_node_for(self, tool_runtime), call, input_type, tool_runtime)

    async def _arun_one(self: ToolNode, call: Any, input_type: Any, tool_runtime: Any) -> Any:
        return await arun_one(_node_for(self, tool_runtime), call, input_type, tool_runtime)

    for name, function in zip(METHODS, (_run_one, _arun_one), strict=True):
        setattr(ToolNode, name, function)


def _node_for(node: ToolNode, runtime: Any) -> ToolNode:
    """The node itself, or its shadow in the simulation that it is part of."""
    if is_simulated(node):
        return node
    watch = watches_in(runtime.config)
    choice = watch.choice if watch is not None else (_everywhere[-1] if _everywhere else None)
    if choice is None:
        return node
    with _guard:
        known = _shadows.get(node)
        if known is None or known[0] is not choice:
            choice.offer(node.tools_by_name.values())
            known = _shadows[node] = (choice, shadow(node, choice))
        return known[1]
