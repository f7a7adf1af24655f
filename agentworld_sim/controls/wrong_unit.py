"""`wrong-unit`: numbers are right in another unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentworld_sim.controls.observation_parts import change_fields
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class WrongUnit(AnswerControl):
    """Numbers of some fields are multiplied, and nothing says so."""

    fields: tuple[str, ...]
    """Names or patterns of the fields, wherever they stand in the answer."""
    factor: float = 100.0
    """What they are multiplied with: 100 for cents, 0.001 for thousands."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factor in (0, 1):
            raise self.refusal("factor", self.factor, "give another than 0 and 1")

    def convert(self, name: str, value: Any) -> Any:
        """What stands there instead of a value."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        product = round(value * self.factor, 6)
        return int(product) if product == int(product) else product

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        return change_fields(observation, self.fields, self.convert)

    def describe(self) -> str:
        fields = ", ".join(self.fields)
        return f"In answers to {self.calls}, {fields} is converted afterwards: write it in its own unit."
