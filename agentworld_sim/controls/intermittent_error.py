"""`intermittent-error`: calls fail a few times in a row, and then work a few times."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.selective_control import StepContext
from agentworld_sim.controls.server_error import ServerError


@dataclass(frozen=True, kw_only=True)
class IntermittentError(ServerError):
    """Of the calls that fit, `failures` fail, then `successes` work, and so on: who tries again gets through."""

    status: int = 503
    failures: int = 1
    """How many calls in a row fail."""
    successes: int = 1
    """How many work after them."""

    @property
    def answers(self) -> bool:
        return False

    async def strikes(self, step: StepContext) -> bool:
        if not await super().strikes(step):
            return False
        return await self.fitting_before(step) % (self.failures + self.successes) < self.failures
