"""`noise`: a search finds nothing that helps, the more often the longer it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agentworld_sim.controls.web_control import ResultControl
from agentworld_sim.ports import StepContext

BASE = 4
"""Of the curriculum's exponential; ZeroSearch (arXiv 2505.04588) trains with it."""


@dataclass(frozen=True, kw_only=True)
class Noise(ResultControl):
    """All results of a query are replaced by pages that have its words and do not help, with a probability that grows with
    every search: `start + (4^(i/calls_to_end) - 1) / 3 * (end - start)` for the search after `i` others, as in ZeroSearch."""

    lowest: ClassVar[Mapping[str, float]] = {"start": 0, "end": 0}

    start: float = 0.0
    """How likely it strikes the first search. With the same `end`, it is as likely for all: what a stage of a training has."""
    end: float = 0.5
    """How likely it strikes after `calls_to_end` searches, and from then on."""
    calls_to_end: int = 20
    """How many searches it takes to get there."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("start", self.start), ("end", self.end)):
            if not 0 <= value <= 1:
                raise self.refusal(name, value, "give 0 to 1")

    def probability_after(self, searches: int) -> float:
        """How likely the search is struck that comes after so many."""
        part = (BASE ** (min(searches / self.calls_to_end, 1)) - 1) / (BASE - 1)
        return self.start + part * (self.end - self.start)

    async def dirt(self, step: StepContext) -> Mapping[str, Any] | None:
        drawn = (await self.random(step)).random()
        strikes = drawn < self.probability_after(await self.fitting_before(step))
        return await super().dirt(step) if strikes else None

    def describe(self) -> str:
        return f"Some results of {self.calls} are replaced afterwards: write those that the query finds."
