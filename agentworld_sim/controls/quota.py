"""`quota`: so many calls, and never again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class Quota(SelectiveControl):
    """The first `limit` of the calls that fit are answered; all others fail."""

    allows_streaming: ClassVar[bool] = True
    lowest: ClassVar[Mapping[str, float]] = {"limit": 0}

    limit: int = 10
    """How many calls are answered."""
    text: str = "403 Forbidden: quota exceeded"
    """What the others fail with."""

    async def strikes(self, step: StepContext) -> bool:
        return await super().strikes(step) and await self.fitting_before(step) >= self.limit

    @property
    def own_words(self) -> tuple[str, ...]:
        return (re.escape(self.text),)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        return step.enforce(failure_of(step, self.text))

    def describe(self) -> str:
        return f"After {self.limit} of them, {self.calls} fail with {self.text!r} before they reach you."
