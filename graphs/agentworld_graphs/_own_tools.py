"""Tools through which an agent steers itself, and which therefore run as they are.

They touch nothing but the graph they are part of: one writes the agent's list of things to do into its
state, others hand a task or the conversation to another agent, whose own tools are simulated like all
others. A world that answered them would break the agent, and they have no effect outside of it.
"""

from __future__ import annotations

import re
from typing import Any, get_args, get_origin

from langchain_core.tools import BaseTool
from langgraph.types import Command

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


def is_own(tool: BaseTool) -> bool:
    """Whether a tool only steers the agent it belongs to."""
    functions = [getattr(tool, name, None) for name in ("func", "coroutine")]
    homes = {function.__module__ for function in functions if function is not None}
    if len(homes) != 1:
        return False
    home = homes.pop()
    return home in HANDOFFS or (home, tool.name) in OWN_TOOLS


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
