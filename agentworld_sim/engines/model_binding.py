"""Which tools a language world model answers, whether it is asked or its recorded answers are said again."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.toolkits import binding_for, infer_domain
from agentworld_sim.types.tools import DomainName, ToolSpec

TURN_US = 1_000_000
"""What an imagined turn takes on the world's clock."""

PREFIX = "model/"
"""Of the bindings to a domain: `model/search`."""


def bind_any(tool: ToolSpec) -> ToolSpec | None:
    """Any tool that does not ask for another binding. What it says of its domain is kept.

    Raises:
        UsageError: `binds_to` names a domain that does not exist.
    """
    if tool.binds_to is None:
        own = None if tool.domain == "mcp" else tool.domain
        name = own or _known_domain(tool) or tool.domain or infer_domain(tool)
        return replace(tool, domain=name, binds_to=PREFIX + name)
    if not tool.binds_to.startswith(PREFIX):
        name = _known_domain(tool) or tool.domain
        return name and replace(tool, domain=name)
    wanted = tool.binds_to.removeprefix(PREFIX)
    for name in get_args(DomainName):
        if name == wanted:
            return replace(tool, domain=name)
    raise UsageError(
        f"tool {tool.name!r} binds to {tool.binds_to!r}, and there is no domain {wanted!r}."
        f"{nearest(wanted, get_args(DomainName))}"
    )


def refusal(tool: ToolSpec) -> str:
    """Why `bind_any` gave `None`."""
    return (
        f"The language world model answers tools that bind to nothing else, and {tool.name!r}"
        f" asks for {tool.binds_to!r}. Leave binds_to out, or write 'model/mcp'."
    )


def _known_domain(tool: ToolSpec) -> DomainName | None:
    """The domain of a tool that the shell knows: a terminal's only if it takes keystrokes, since the
    others return no screen."""
    known = binding_for(tool)
    if known is None or known.engine != "shell":
        return None
    keys = "keystrokes" in tool.input_schema.get("properties", {})
    return known.domain if keys or known.domain != "terminal" else "swe"
