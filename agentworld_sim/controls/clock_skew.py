"""`clock-skew`: a clock is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class ClockSkew(SelectiveControl):
    """Calls are answered, and what they write is dated, by a clock that is wrong; the world's own clock is not."""

    lowest: ClassVar[Mapping[str, float]] = {"by_us": -math.inf}

    by_us: int
    """How much it is ahead, in microseconds; less than 0 for one that is behind."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.by_us:
            raise self.refusal("by_us", 0, "then the clock is right")

    async def strike(self, step: StepContext, next: Next) -> Answer:
        state = replace(step.state, clock_us=step.state.clock_us + self.by_us)
        return (await next(replace(step, state=state))).with_delay(-self.by_us)

    def describe(self) -> str:
        way = "ahead" if self.by_us > 0 else "behind"
        return f"The clock that {self.calls} go by is {abs(self.by_us) / 1e6:g} seconds {way}."
