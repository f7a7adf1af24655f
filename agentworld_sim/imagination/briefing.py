"""What a scenario tells the model beside the calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentworld_sim.types.tools import DomainName


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The optional parts of a prompt."""

    task: str = ""
    """What the agent is asked to do; told to the model where the domain is a screen."""
    initial_state: Mapping[DomainName, str] = field(default_factory=dict[DomainName, str])
    """What is there before the first turn, in the domain's own form: a screen, or a description."""
    demonstrations: Mapping[DomainName, str] = field(default_factory=dict[DomainName, str])
    """Examples of calls and answers of the real system."""
    secrets: frozenset[str] = frozenset()
    """Texts of the world that no prompt may contain."""
    instruction: str = ""
    """How the world shall behave."""
