"""`stale-read`: what is read is what was there earlier."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentworld_sim.controls.selective_control import SelectiveControl, has_effect
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class StaleRead(SelectiveControl):
    """Calls that change nothing are answered from the state some turns ago."""

    turns_ago: int = 1
    """How many turns are not seen yet."""

    async def strike(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        turns = await step.history()
        if has_effect(answer) or not turns:
            return answer
        since = turns[-min(self.turns_ago, len(turns))]
        old = await next(replace(step, state=await step.state_at(since.parent)))
        same = replace(old.observation, provenance=answer.observation.provenance)
        return answer if same == answer.observation else replace(answer, observation=same)

    def describe(self) -> str:
        return f"{self.calls} that change nothing are answered from the state {self.turns_ago} turns ago."
