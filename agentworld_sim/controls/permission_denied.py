"""`permission-denied`: what a call asks for is not allowed."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.server_error import ServerError
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.conditions import Conditions


@dataclass(frozen=True, kw_only=True)
class PermissionDenied(ServerError):
    """Calls are refused. With `paths` they go on, and only what would change a file there fails, as a whole."""

    status: int = 0
    text: str = "Permission denied"
    paths: tuple[str, ...] = ()
    """Absolute paths at and below which nothing can be changed, for the rest of the history."""

    @property
    def own_words(self) -> tuple[str, ...]:
        # Commands say the same of files, and are right.
        return ()

    @property
    def answers(self) -> bool:
        return not self.paths

    async def strike(self, step: StepContext, next: Next) -> Answer:
        if not self.paths:
            return await super().strike(step, next)
        conditions = Conditions(denied=self.paths)
        answer = await next(step.under(conditions))
        return answer if self.count_in(step.state) else answer.with_values(conditions.to_values())

    def describe(self) -> str:
        if not self.paths:
            return super().describe()
        return f"Nothing at or below {', '.join(self.paths)} can be read or changed: {self.text!r}."
