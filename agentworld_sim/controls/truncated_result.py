"""`truncated-result`: the end of a long answer is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from agentworld_sim.controls.observation_parts import change_items, with_text
from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.ports import Answer, Next, StepContext


@dataclass(frozen=True, kw_only=True)
class TruncatedResult(SelectiveControl):
    """Texts are cut, without a word; lists in structured content lose as large a part of their items."""

    lowest: ClassVar[Mapping[str, float]] = {"characters": 0}

    characters: int = 200
    """What is left of the text."""

    @property
    def own_words(self) -> tuple[str, ...]:
        return (r"(?:[\[(…]|\.\.)[^\w\n]*(?:\w+ )?truncated\b",)

    async def strike(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        text = answer.observation.text
        if len(text) <= self.characters:
            return answer
        share = self.characters / len(text)
        shorter = change_items(answer.observation, lambda items: items[: int(len(items) * share)])
        return replace(answer, observation=with_text(shorter, text[: self.characters]))

    def describe(self) -> str:
        return (
            f"Answers to {self.calls} are cut after {self.characters} characters: write them whole."
        )
