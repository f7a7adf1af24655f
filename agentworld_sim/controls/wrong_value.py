"""`wrong-value`: a value is wrong, and looks right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Any

from agentworld_sim.controls.observation_parts import change_fields
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class WrongValue(AnswerControl):
    """Values of some fields are replaced by others that could be right; the same one always by the same."""

    fields: tuple[str, ...]
    """Names or patterns of the fields, wherever they stand in the answer."""

    async def change(self, step: StepContext, observation: Observation) -> Observation:

        def change(name: str, value: Any) -> Any:
            return plausible_value(value, Random(f"{step.state.seed}/{self.name}/{name}/{value!r}"))

        return change_fields(observation, self.fields, change)

    def describe(self) -> str:
        fields = ", ".join(self.fields)
        return (
            f"In answers to {self.calls}, {fields} is made wrong afterwards: write what is right."
        )


def plausible_value(value: Any, random: Random) -> Any:
    """Another value like `value`: a number some per cent off, the contrary of a boolean, a text with another digit or
    with two letters exchanged."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + random.choice((-1, 1)) * max(1, abs(value) * random.randint(3, 20) // 100)
    if isinstance(value, float):
        wrong = round(value * (1 + random.choice((-1, 1)) * random.uniform(0.03, 0.2)), 2)
        return wrong if wrong != value else value + 0.01
    if not isinstance(value, str):
        return value
    digits = [found.start() for found in re.finditer(r"\d", value, re.ASCII)]
    if digits:
        at = digits[-1]
        return f"{value[:at]}{(int(value[at]) + random.randint(1, 8)) % 10}{value[at + 1 :]}"
    pairs = [at for at in range(len(value) - 1) if value[at] != value[at + 1]]
    if not pairs:
        return value
    at = random.choice(pairs)
    return value[:at] + value[at + 1] + value[at] + value[at + 2 :]
