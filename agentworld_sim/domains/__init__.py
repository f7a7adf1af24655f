"""Domains: how the actions and observations of each kind of environment are written.

One file per domain. A domain without a file has no engine yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, get_args

from agentworld_sim.checks import Check
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.turns import Action

__all__ = ["BUILT", "Domain", "WriteAction", "domain"]

BUILT: tuple[DomainName, ...] = ("terminal", "swe")
"""The domains that an engine answers."""


class WriteAction(Protocol):
    """Writes a call in the domain's own form: what the world model reads."""

    def __call__(self, call: ToolCall, tool: ToolSpec) -> Action: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One kind of environment."""

    name: DomainName
    action: WriteAction
    toolkits: tuple[str, ...]
    """What a scenario of this domain offers when it names no tools."""
    checks: tuple[Check, ...] = ()
    """Rules that hold for every observation of the domain."""


def domain(name: str) -> Domain:
    """The domain of that name.

    Raises:
        UsageError: there is no such domain, or no engine for it yet.
    """
    if name in BUILT:
        return import_module(f"agentworld_sim.domains.{name}").DOMAIN
    if name in get_args(DomainName):
        raise UsageError(f"the domain {name!r} has no engine yet; there are: {', '.join(BUILT)}.")
    raise UsageError(f"there is no domain {name!r}.{nearest(name, get_args(DomainName))}")
