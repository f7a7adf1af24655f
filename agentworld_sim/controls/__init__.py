"""Controls: perturbations enforced in code, before or after an engine answers.

One file per kind of control will stand here; this module holds what they have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agentworld_sim.state._changes import WorldState
from agentworld_sim.tools import ToolCall, ToolSpec
from agentworld_sim.turns import Observation

__all__ = ["Control", "ControlInput"]


@dataclass(frozen=True, slots=True)
class ControlInput:
    """What a control may look at. Its decisions depend on nothing else."""

    call: ToolCall
    tool: ToolSpec
    state: WorldState
    seed: int
    """Seed of the turn's random source."""


class Control(Protocol):
    """One perturbation. An observation it makes or changes has provenance `enforced`."""

    @property
    def name(self) -> str: ...

    def before(self, given: ControlInput) -> Observation | None:
        """An observation that answers at once instead of the engine, or `None`."""
        ...

    def after(self, given: ControlInput, observation: Observation) -> Observation:
        """The observation the agent gets; the same object when nothing is changed."""
        ...

    def delay_us(self, given: ControlInput) -> int:
        """How much longer the call takes, on the world's clock."""
        ...
