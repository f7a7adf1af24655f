"""`withheld-field`: a field that should be in an answer is not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentworld_sim.controls.observation_parts import NOTHING, change_fields, without_lines
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation

SHORTEST_VALUE = 4
"""Characters: shorter ones stand in a text by chance."""


@dataclass(frozen=True, kw_only=True)
class WithheldField(AnswerControl):
    """Some fields are left out of answers, in JSON and in lines such as `name: value`."""

    fields: tuple[str, ...]
    """Names or patterns of the fields, wherever they stand in the answer."""

    async def obedient(self, step: StepContext, observation: Observation) -> Observation:
        """Also without the lines that say elsewhere what the fields hold, or what they are."""
        if not await self.strikes(step):
            return observation
        values: set[str] = set()

        def collect(name: str, value: Any) -> Any:
            if len(text := str(value)) >= SHORTEST_VALUE and not isinstance(value, bool):
                values.add(re.escape(text))
            return value

        change_fields(observation, self.fields, collect)
        names = [
            re.escape(one).replace(r"\*", r"\w*").replace("_", "[ _-]?") for one in self.fields
        ]
        said = rf"(?:{'|'.join(names)})\W{{0,3}}(?:[:=]|\b(?:is|are|was)\b)"
        pattern = re.compile(rf"(?i)(?<!\w)(?:{'|'.join([said, *sorted(values)])})")
        return without_lines(observation, pattern.search, keep=self.fields)

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        return change_fields(observation, self.fields, lambda name, value: NOTHING)

    def describe(self) -> str:
        return f"Of answers to {self.calls}, {', '.join(self.fields)} is not shown to the agent."
