"""`quota`: so many calls, and never again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from agentworld_sim.controls.selective_control import FailureControl
from agentworld_sim.ports import StepContext


@dataclass(frozen=True, kw_only=True)
class Quota(FailureControl):
    """The first `limit` of the calls that fit are answered; all others fail."""

    lowest: ClassVar[Mapping[str, float]] = {"limit": 0}

    limit: int = 10
    """How many calls are answered."""
    text: str = "403 Forbidden: quota exceeded"

    async def strikes(self, step: StepContext) -> bool:
        return await super().strikes(step) and await self.fitting_before(step) >= self.limit

    def describe(self) -> str:
        return f"After {self.limit} of them, {self.calls} fail with {self.text!r} before they reach you."
