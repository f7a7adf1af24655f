"""Checks: rules that say whether an observation is acceptable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn


@dataclass(frozen=True, slots=True)
class CheckInput:
    """What a check may look at."""

    call: ToolCall
    tool: ToolSpec
    observation: Observation
    before: WorldState
    after: WorldState
    blobs: Blobs
    history: Sequence[Turn] = ()
    """The turns before this one, oldest first. Given for imagined observations only: a computed one
    agrees with the state by construction."""


class Check(Protocol):
    """One rule."""

    @property
    def name(self) -> str: ...

    @property
    def scope(self) -> Literal["all", "imagined"]:
        """Which observations it is asked about."""
        ...

    def judge(self, given: CheckInput) -> str | None:
        """`None` when acceptable, otherwise the reason, written for whoever must answer again."""
        ...
