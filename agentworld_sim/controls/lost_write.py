"""`lost-write`: what a call did is confirmed, and not there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, has_effect
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class LostWrite(SelectiveControl):
    """Calls that change something are answered as ever, and have changed no file and no record. What a shell
    remembers stays: its variables, its working directory."""

    allows_streaming: ClassVar[bool] = True

    async def strike(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        if not has_effect(answer):
            return answer
        # A shell stands where it went, also in a directory that is not there.
        lost = replace(step.without_effect(answer).change, sessions=answer.change.sessions)
        return replace(answer, change=lost)

    def describe(self) -> str:
        return f"{self.calls} that change something are answered as if they had, and the change is lost afterwards."
