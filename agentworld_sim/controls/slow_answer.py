"""`slow-answer`: an answer takes longer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class SlowAnswer(SelectiveControl):
    """Calls take so much longer on the world's clock; nobody waits."""

    allows_streaming: ClassVar[bool] = True

    by_us: int = 10_000_000
    """How much longer, in microseconds."""

    async def strike(self, step: StepContext, next: Next) -> Answer:
        return (await next(step)).with_delay(self.by_us)

    def describe(self) -> str:
        return f"{self.calls} take {self.by_us / 1e6:g} seconds longer."
