"""`timeout`: the caller gives up before an answer comes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from agentworld_sim.controls.selective_control import FailureControl
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class Timeout(FailureControl):
    """Calls end without an answer after some time of the world's clock; whether what they asked for was done, the
    agent is not told."""

    allows_streaming: ClassVar[bool] = False
    lowest: ClassVar[Mapping[str, float]] = {"after_us": 0}

    after_us: int = 30_000_000
    """When it is given up, in microseconds."""
    done: bool = False
    """Whether the call has its effect all the same."""
    text: str = "Request timed out after {seconds} seconds"
    """What the agent is told; `{seconds}` is how long it took."""

    @property
    def answers(self) -> bool:
        return not self.done

    @property
    def message(self) -> str:
        return self.text.replace("{seconds}", f"{self.after_us / 1e6:g}")

    async def strike(self, step: StepContext, next: Next) -> Answer:
        failure = (await super().strike(step, next)).with_delay(self.after_us)
        if not self.done:
            return failure
        answer = await next(step)
        return replace(answer, observation=failure.observation).with_delay(self.after_us)

    def describe(self) -> str:
        effect = "have their effect, and the answer is lost" if self.done else "never reach you"
        return f"{self.calls} end with {self.message!r}: they {effect}."
