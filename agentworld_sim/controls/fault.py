"""`Fault`: calls of one tool fail, or take longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class Fault(SelectiveControl):
    """Calls fail with a text of yours, take longer, or both. A model is not told of it: what it fails, no model is asked."""

    allows_streaming: ClassVar[bool] = True
    lowest: ClassVar[Mapping[str, float]] = {"latency_us": 0}

    when: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether it strikes a call with these arguments; every call by default."""
    error: str | None = None
    """What the call fails with, told as the tool tells its own failures; `None` leaves the answer alone."""
    latency_us: int = 0
    """How much longer the call takes, on the world's clock."""

    async def strikes(self, step: StepContext) -> bool:
        return await super().strikes(step) and (
            self.when is None or bool(self.when(step.call.arguments))
        )

    async def strike(self, step: StepContext, next: Next) -> Answer:
        if self.error is None:
            return (await next(step)).with_delay(self.latency_us)
        return step.enforce(failure_of(step, self.error)).with_delay(self.latency_us)
