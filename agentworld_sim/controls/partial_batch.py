"""`partial-batch`: of many things that a call asks for, some are done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class PartialBatch(SelectiveControl):
    """The call is answered as if its list were shorter: the first part is done, and nothing of the rest."""

    argument: str | None = None
    """The argument that is the list; the longest list of the call by default."""
    share: float = 0.5
    """How much of the list is done; at least one item is, and one is not."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share < 1:
            raise self.refusal("share", self.share, "give more than 0 and less than 1")

    async def strike(self, step: StepContext, next: Next) -> Answer:
        lists = {
            name: cast("list[Any]", value)
            for name, value in step.call.arguments.items()
            if isinstance(value, list) and len(cast("list[Any]", value)) > 1
        }
        name = self.argument or max(lists, key=lambda one: len(lists[one]), default="")
        if name not in lists:
            return await next(step)
        done = min(max(1, int(len(lists[name]) * self.share)), len(lists[name]) - 1)
        arguments = {**step.call.arguments, name: lists[name][:done]}
        answer = await next(replace(step, call=replace(step.call, arguments=arguments)))
        return answer.with_values({})

    def describe(self) -> str:
        return f"Of lists in {self.calls} you are given the first part alone, and answer as if that were all."
