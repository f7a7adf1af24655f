"""Tools through which an agent steers itself, and which therefore run as they are.

They touch nothing but the graph they are part of: one writes the agent's list of things to do into its
state, others hand a task or the conversation to another agent, whose own tools are simulated like all
others. A world that answered them would break the agent, and they have no effect outside of it.
"""

from __future__ import annotations

import re
from types import FunctionType
from typing import Any, get_args, get_origin

from langchain_core.tools import BaseTool
from langgraph.types import Command

from agentworld_sim import World
from agentworld_sim.supports_world import HoldsWorld

OWN_TOOLS = frozenset(
    {
        ("langchain.agents.middleware.todo", "write_todos"),
        ("deepagents.middleware.subagents", "task"),
    }
)
"""Where the function of such a tool is defined, and the tool's name. A tool that only has the name is
not one."""

HANDOFFS = frozenset({"langgraph_supervisor.handoff", "langgraph_swarm.handoff"})
"""Where all tools only hand the conversation on. Their names are those of the user's agents."""

FILE_TOOLS = "deepagents.middleware.filesystem"
"""Where the functions of deepagents' tools of files and commands are defined."""

GRAPH_BACKENDS = ("deepagents.backends.state", "deepagents.backends.store")
"""Where backends are defined that keep files in the state or the store of the graph itself."""


def is_own(tool: BaseTool) -> bool:
    """Whether a tool only steers the agent it belongs to."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    homes = {function.__module__ for function in functions if function is not None}
    if len(homes) != 1:
        return False
    home = homes.pop()
    return home in HANDOFFS or (home, tool.name) in OWN_TOOLS


def works_in(tool: BaseTool, world: World) -> bool:
    """Whether a tool is one of deepagents' over files and commands, whose backend works in this world already.

    What a `CompositeBackend` keeps in the graph's own state or store counts as such.
    """
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    return all(_works_in(function, world) for function in functions)


def _works_in(function: Any, world: World) -> bool:
    if not isinstance(function, FunctionType) or function.__module__ != FILE_TOOLS:
        return False
    held = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    backend: Any = getattr(held["self"].cell_contents, "backend", None) if "self" in held else None
    backends = [backend]
    if type(backend).__module__ == "deepagents.backends.composite":
        backends = [backend.default, *backend.routes.values()]
    worlds = [one.world for one in backends if isinstance(one, HoldsWorld)]
    kept = [one for one in backends if type(one).__module__ in GRAPH_BACKENDS]
    return bool(worlds) and {*worlds} == {world} and len(worlds) + len(kept) == len(backends)


def steers(tool: BaseTool) -> bool:
    """Whether a tool says that it may return a `Command`, with which it steers the graph it is part of."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine", "_run", "_arun")]
    return any(_may_be_command(_return_of(function)) for function in functions)


def _return_of(function: object) -> Any:
    return getattr(function, "__annotations__", {}).get("return")


def _may_be_command(told: Any) -> bool:
    if isinstance(told, str):
        return re.search(r"\bCommand\b", told) is not None
    return any(Command in (one, get_origin(one)) for one in (told, *get_args(told)))
