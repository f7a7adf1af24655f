"""What all controls have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

PREFIX = "control/"
"""What the keys of the values begin with that controls keep in the state."""


@dataclass(frozen=True, slots=True)
class ControlInput:
    """What a control may look at. Its decisions depend on nothing else."""

    call: ToolCall
    tool: ToolSpec
    state: WorldState
    seed: int
    """Seed of the turn's random source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """What a control does to a call before an engine answers it."""

    observation: Observation | None = None
    """Answers at once; `None` leaves the answer to the engine."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What changes in the state's values with this turn, as in `StateChange.values`. A control that counts
    counts here: then forks, time travel and reopened worlds each have their own count. Keys begin with
    `control/` and the control's name."""


class Control(Protocol):
    """One perturbation. An observation it makes or changes has provenance `enforced`."""

    @property
    def name(self) -> str: ...

    def before(self, given: ControlInput) -> Enforced | Observation | None:
        """What happens instead of the engine's answer, or besides it; `None` for nothing. An observation
        alone answers at once and changes nothing."""
        ...

    def after(self, given: ControlInput, observation: Observation) -> Observation:
        """The observation the agent gets; the same object when nothing is changed."""
        ...

    def delay_us(self, given: ControlInput) -> int:
        """How much longer the call takes, on the world's clock."""
        ...
