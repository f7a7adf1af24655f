"""Which middleware stands between one of ours and the tools.

`create_agent` tells a middleware nothing of the others; what one is handed shows them. This reads
private parts of LangChain, pinned by a canary test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from langchain.agents.middleware import AgentMiddleware, LLMToolEmulator

FACTORY = "langchain.agents.factory"
"""Where `create_agent` chains what wraps tool calls."""

HARMLESS = ("langchain.agents.middleware.", "deepagents.", "agentworld_graphs.")
"""Where middleware is defined that hands a call on, or not at all. Should one hand on another tool,
`SimulationWatch` stops it."""

DECORATED = "langchain.agents.middleware.types"
"""Where the classes are made of functions of the user's (`@wrap_tool_call`)."""


def inside_of(handler: object) -> list[object]:
    """The middleware between a wrapper of tool calls and the tools.

    Args:
        handler: What the wrapper was given to execute the call with.
    """
    return list(_owners(handler, set()))


def unknown_to_us(inner: Iterable[object]) -> list[str]:
    """The names of those that might answer a call themselves or run another tool."""
    kinds: list[type[object]] = [type(one) for one in inner]
    return [kind.__name__ for kind in kinds if not _is_harmless(kind)]


def _is_harmless(kind: type[object]) -> bool:
    home = kind.__module__
    if issubclass(kind, LLMToolEmulator) or not issubclass(kind, AgentMiddleware):
        return False
    return home.startswith(HARMLESS) and home != DECORATED


def _owners(function: Any, seen: set[int]) -> Iterator[object]:
    if id(function) in seen:
        return
    seen.add(id(function))
    owner = getattr(function, "__self__", None)
    if owner is not None:
        yield owner
        return
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        yield from _owners(wrapped, seen)
        return
    if getattr(function, "__module__", None) != FACTORY:
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in ("inner", "outer"):
            yield from _owners(cell.cell_contents, seen)
