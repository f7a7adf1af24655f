"""`incomplete-result`: the whole answer is there when it is asked for again."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.observation_parts import change_items
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class IncompleteResult(AnswerControl):
    """The first answers to a call have the first part of the items alone (of a JSON list, or lines); the same call,
    made again, has them all."""

    polls: int = 1
    """How many answers are incomplete, before each that is whole."""

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        number = await self.same_before(step) % (self.polls + 1)
        if number == self.polls:
            return observation
        share = (number + 1) / (self.polls + 1)
        return change_items(observation, lambda items: items[: int(len(items) * share)])

    def describe(self) -> str:
        return (
            f"The first {self.polls} answers to {self.calls} are shown in part: write them whole."
        )
