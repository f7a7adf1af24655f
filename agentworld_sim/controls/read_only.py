"""`read-only`: nothing can be written any more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from agentworld_sim.controls.selective_control import SelectiveControl, failure_of, has_effect
from agentworld_sim.ports import Answer, Next, StepContext
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.tools import DomainName


class WriteFailure(SelectiveControl):
    """From the first call that it strikes, conditions hold that the machine itself obeys, for all tools. Records know
    of none: calls of its own tools that would change some fail as a whole."""

    lasting: ClassVar[bool] = True
    only_in: ClassVar[tuple[DomainName, ...]] = ("mcp", "terminal", "swe", "os")

    text: str
    """What a call fails with that would change records."""

    @property
    def conditions(self) -> Conditions:
        """What holds from the first call on."""
        raise NotImplementedError

    def stops_records(self) -> bool:
        """Whether records cannot be written either."""
        return True

    async def strike(self, step: StepContext, next: Next) -> Answer:
        begun = self.count_in(step.state) > 0
        answer = await next(step if begun else step.under(self.conditions))
        if self.stops_records() and not answer.change.files and has_effect(answer):
            failure = failure_of(step, self.text)
            answer = replace(step.without_effect(answer), observation=failure)
        if begun:
            return answer
        # What the turn used up of them is counted already.
        return answer.with_values({**self.conditions.to_values(), **answer.change.values})


@dataclass(frozen=True, kw_only=True)
class ReadOnly(WriteFailure):
    """From the first call that it strikes, files below `paths` cannot be changed by any tool: the machine says so in the
    middle of a script. Calls of its own tools that would change records fail as a whole, if `paths` has `/`."""

    paths: tuple[str, ...] = ("/",)
    """Absolute paths at and below which nothing can be written."""
    text: str = "Read-only file system"
    """What a call fails with that would change records."""

    @property
    def conditions(self) -> Conditions:
        return Conditions(read_only=self.paths)

    def stops_records(self) -> bool:
        return "/" in self.paths

    def describe(self) -> str:
        return f"After {self.calls}, what would write at or below {', '.join(self.paths)} fails with {self.text!r}."
