"""`Fault`: calls of one tool fail, or take longer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agentworld_sim.errors import UsageError
from agentworld_sim.ports import Answer, Control, Next, StepContext
from agentworld_sim.ports.steps import PREFIX
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Control):
    """It counts in the state, so that a fork or an earlier point of history has the count that it had
    there. A model is not told of it: what it fails, no model is asked."""

    allows_streaming: ClassVar[bool] = True

    name: str
    """Of its own among the controls of a world; the count is kept under it."""
    tool: str
    """Name of the tool whose calls it strikes."""
    when: Callable[[Mapping[str, Any]], bool] | None = None
    """Whether it strikes a call with these arguments; every call by default."""
    error: str | None = None
    """What the call fails with, told as the tool tells its own failures; `None` leaves the answer alone."""
    latency_us: int = 0
    """How much longer the call takes, on the world's clock."""
    times: int | None = None
    """The most calls it strikes in one line of history; all by default."""

    def __post_init__(self) -> None:
        """Refuses what no call can have.

        Raises:
            UsageError: a number is negative.
        """
        for field, value in (("latency_us", self.latency_us), ("times", self.times)):
            if value is not None and value < 0:
                raise UsageError(f"{field} of the fault {self.name!r} is {value}: give 0 or more.")

    @property
    def key(self) -> str:
        """Under which the state keeps how many calls it has struck."""
        return f"{PREFIX}{self.name}"

    def strikes(self, step: StepContext) -> bool:
        """Whether it strikes this call."""
        if step.call.name != self.tool:
            return False
        if self.times is not None and step.state.values.get(self.key, 0) >= self.times:
            return False
        return self.when is None or bool(self.when(step.call.arguments))

    async def handle(self, step: StepContext, next: Next) -> Answer:
        if not self.strikes(step):
            return await next(step)
        if self.error is None:
            answer = await next(step)
        else:
            answer = step.enforce(failure_of(step, self.error))
        struck = {self.key: step.state.values.get(self.key, 0) + 1}
        return answer.with_delay(self.latency_us).with_values(struck)


def failure_of(step: StepContext, error: str) -> Observation:
    """`error` as the tool of the call would tell it: the tools that run commands have a form for what a
    failed command printed, and most others mark their result as an error."""
    from agentworld_sim import toolkits

    return toolkits.failure_of(step.tool, error, step.call.arguments, step.seed)
