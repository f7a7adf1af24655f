"""`duplicated-write`: what a call does is done twice."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentworld_sim.controls.selective_control import SelectiveControl, has_effect
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class DuplicatedWrite(SelectiveControl):
    """Calls that change something are done once more, on what the first left; the agent reads the first answer."""

    async def strike(self, step: StepContext, next: Next) -> Answer:
        first = await next(step)
        if not has_effect(first):
            return first
        both = first.then(await next(step.after(first)))
        return replace(both, observation=first.observation)

    def describe(self) -> str:
        return f"{self.calls} that change something are done twice; you are asked twice, too."
