"""Domains: how the actions and observations of each kind of environment are written.

One file per domain, after the wire form of the released language world model (Qwen-AgentWorld,
arXiv 2606.24597).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, get_args

from agentworld_sim.checks import Check
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation

__all__ = ["Domain", "ReadObservation", "WriteAction", "WriteObservation", "domain"]


WriteAction = Callable[[ToolCall, ToolSpec], Action]
"""Writes a call in the domain's own form: what the world model reads."""

WriteObservation = Callable[[Observation], str]
"""Writes an observation in the domain's own form: what the world model has said before."""

ReadObservation = Callable[[str, ToolCall, ToolSpec], Observation]
"""Reads what the world model wrote, without tag, fence and marker.

Raises `ValueError` where it is not of the domain's form; the text is the reason, for whoever answers again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One kind of environment."""

    name: DomainName
    action: WriteAction
    write: WriteObservation
    read: ReadObservation
    fence: Literal["json", "python", ""] = ""
    """Language of the fence around an action in a prompt; empty for none."""
    state: Literal["never", "first", "always"] = "never"
    """On which turns of a prompt **Current State:** is told, beside the first after a cut."""
    is_screen: bool = False
    """Whether what it shows is the state of a screen, which an action changes."""
    tells_task: bool = False
    """Whether the first turn of a prompt carries **Task Instruction**."""
    toolkits: tuple[str, ...] = ()
    """What a scenario of this domain offers when it names no tools."""
    checks: tuple[Check, ...] = ()
    """Rules for every imagined observation of the domain."""


_known: dict[str, Domain] = {}


def domain(name: str) -> Domain:
    """The domain of that name.

    Raises:
        UsageError: there is no such domain.
    """
    found = _known.get(name)
    if found is not None:
        return found
    if name in get_args(DomainName):
        found = _known[name] = import_module(f"agentworld_sim.domains.{name}").DOMAIN
        return found
    raise UsageError(f"there is no domain {name!r}.{nearest(name, get_args(DomainName))}")
