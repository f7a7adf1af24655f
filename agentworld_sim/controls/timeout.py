"""`timeout`: the caller gives up before an answer comes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class Timeout(SelectiveControl):
    """Calls end without an answer after some time of the world's clock; whether what they asked for was done, the
    agent is not told."""

    lowest: ClassVar[Mapping[str, float]] = {"after_us": 0}

    after_us: int = 30_000_000
    """When it is given up, in microseconds."""
    done: bool = False
    """Whether the call has its effect all the same."""

    @property
    def answers(self) -> bool:
        return not self.done

    @property
    def message(self) -> str:
        """What the agent is told."""
        return f"Request timed out after {self.after_us / 1e6:g} seconds"

    @property
    def own_words(self) -> tuple[str, ...]:
        return (re.escape(self.message),)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        failure = failure_of(step, self.message)
        if not self.done:
            return step.enforce(failure).with_delay(self.after_us)
        return replace(await next(step), observation=failure).with_delay(self.after_us)

    def describe(self) -> str:
        effect = "have their effect, and the answer is lost" if self.done else "never reach you"
        return f"{self.calls} end with {self.message!r}: they {effect}."
