"""`rate-limit`: so many calls in a window of time, and no more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext

REFUSAL_US = 1_000_000
"""What a refusal takes on the world's clock, so that who keeps asking is let through one day."""


@dataclass(frozen=True, kw_only=True)
class RateLimit(SelectiveControl):
    """At most `limit` of the calls that fit are answered within `window_us` of the world's clock. The others fail with
    429 and the seconds to wait, each a second later."""

    limit: int = 5
    """Calls in a window."""
    window_us: int = 60_000_000
    """How long a call counts, in microseconds."""
    text: str = "429 Too Many Requests"
    """What a call that is too many fails with; the seconds to wait are added."""

    def recent(self, step: StepContext) -> list[int]:
        """When the calls were answered that still count, on the world's clock."""
        began = step.state.clock_us - self.window_us
        return [at for at in step.values.get("answered", ()) if at > began]

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if await self.strikes(step) and len(self.recent(step)) < self.limit:
            answered: list[Any] = [*self.recent(step), step.state.clock_us]
            return step.keep(await next(step), answered=answered)
        return await super().handle(step, next)

    @property
    def own_words(self) -> tuple[str, ...]:
        return (re.escape(self.text),)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        wait_us = self.recent(step)[-self.limit] + self.window_us - step.state.clock_us
        message = f"{self.text}. Retry-After: {-(-wait_us // 1_000_000)}"
        return step.enforce(failure_of(step, message)).with_delay(REFUSAL_US)

    def describe(self) -> str:
        window = f"{self.window_us / 1e6:g} seconds"
        return f"At most {self.limit} in {window} of {self.calls} reach you; the others fail with {self.text!r}."
