"""`rate-limit`: so many calls in a window of time, and no more."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.selective_control import FailureControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext

REFUSAL_US = 1_000_000
"""What a refusal takes on the world's clock, so that who keeps asking is let through one day."""


@dataclass(frozen=True, kw_only=True)
class RateLimit(FailureControl):
    """At most `limit` of the calls that fit are answered within `window_us` of the world's clock. The others fail with
    429 and the seconds to wait, each a second later."""

    limit: int = 5
    """Calls in a window."""
    window_us: int = 60_000_000
    """How long a call counts, in microseconds."""
    text: str = "429 Too Many Requests"
    """What a call that is too many fails with; the seconds to wait are added."""

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if not await self.strikes(step):
            return await next(step)
        now_us = step.state.clock_us
        answered: list[int] = step.values.get("answered", [])
        recent = [at_us for at_us in answered if at_us > now_us - self.window_us]
        if len(recent) < self.limit:
            return step.keep(await next(step), answered=[*recent, now_us])
        wait_us = recent[-self.limit] + self.window_us - now_us
        message = f"{self.text}. Retry-After: {-(-wait_us // 1_000_000)}"
        return self.count(step, step.enforce(failure_of(step, message)).with_delay(REFUSAL_US))

    def describe(self) -> str:
        window = f"{self.window_us / 1e6:g} seconds"
        return f"At most {self.limit} in {window} of {self.calls} reach you; the others fail with {self.text!r}."
