"""`out-of-order`: items come in another order."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from agentworld_sim.controls.observation_parts import change_items
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class OutOfOrder(AnswerControl):
    """The items of an answer (of a JSON list, or lines) are shuffled by a seed of the call's own."""

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        seed = (await self.random(step)).random()
        return change_items(observation, lambda items: Random(seed).sample(items, len(items)))

    def describe(self) -> str:
        return f"The items in answers to {self.calls} are shuffled: write them in their order."
