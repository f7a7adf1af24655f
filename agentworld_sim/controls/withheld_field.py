"""`withheld-field`: a field that should be in an answer is not."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.observation_parts import NOTHING, change_fields
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class WithheldField(AnswerControl):
    """Some fields are left out of answers, in JSON and in lines such as `name: value`."""

    fields: tuple[str, ...]
    """Names or patterns of the fields, wherever they stand in the answer."""

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        return change_fields(observation, self.fields, lambda name, value: NOTHING)

    def describe(self) -> str:
        return f"Of answers to {self.calls}, {', '.join(self.fields)} is not shown to the agent."
