"""`hidden-fact`: something that answers say is not to be read in them."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from urllib.parse import quote

from agentworld_sim.controls.observation_parts import change_texts, without_lines
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation

SHORTEST_FACT = 5
"""Letters and digits."""


@lru_cache(maxsize=64)
def _pattern_of(fact: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, fact.split()))
    return re.compile(rf"(?im)^[^\w\n]*{words}[^\w\n]*\n|{words}")


@dataclass(frozen=True, kw_only=True)
class HiddenFact(AnswerControl):
    """A text is taken out of all answers, whatever its case, but of those of the tools that reveal it. A line of which
    nothing else is left goes with it."""

    fact: str
    """The text."""
    revealed_by: str = ""
    """Tools, by name or pattern, whose answers keep it; none by default."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.fact.strip():
            raise self.refusal("fact", "empty", "give the text to hide")

    def selects_tool(self, tool: ToolSpec) -> bool:
        return super().selects_tool(tool) and not fnmatchcase(tool.name, self.revealed_by)

    def hide(self, text: str) -> str:
        """`text` without the fact."""
        return _pattern_of(self.fact).sub("", text)

    @cached_property
    def disguises(self) -> re.Pattern[str] | None:
        """The fact with other signs between its letters, backwards, or encoded; `None` for one so short that chance
        writes it."""
        letters = [one for one in self.fact if one.isalnum()]
        if len(letters) < SHORTEST_FACT:
            return None
        data = self.fact.encode()
        codes = (
            b64encode(data).decode().rstrip("="),
            data.hex(),
            quote(self.fact),
            self.fact[::-1],
        )
        spelled = (r"[\W_]*".join(map(re.escape, way)) for way in (letters, letters[::-1]))
        return re.compile("|".join([*spelled, *map(re.escape, codes)]), re.IGNORECASE)

    async def obedient(self, step: StepContext, observation: Observation) -> Observation:
        """Without the lines that say the fact in a way that `hide` does not find."""
        disguises = self.disguises
        if disguises is None or not await self.strikes(step):
            return observation
        return without_lines(observation, lambda text: disguises.search(self.hide(text)))

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        return change_texts(observation, self.hide)

    def describe(self) -> str:
        return f"Answers to {self.calls} never say this to the agent, and you need not avoid it: {self.fact!r}."
