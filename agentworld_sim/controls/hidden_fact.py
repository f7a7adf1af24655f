"""`hidden-fact`: something that answers say is not to be read in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from agentworld_sim.controls.observation_parts import change_texts
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.errors import UsageError
from agentworld_sim.ports import StepContext
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation


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
            raise UsageError(f"fact of the control {self.name!r} is empty: give the text to hide.")

    def selects_tool(self, tool: ToolSpec) -> bool:
        return super().selects_tool(tool) and not fnmatchcase(tool.name, self.revealed_by)

    def hide(self, text: str) -> str:
        """`text` without the fact."""
        return _pattern_of(self.fact).sub("", text)

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        return change_texts(observation, self.hide)

    def describe(self) -> str:
        return f"Answers to {self.calls} never say this to the agent, and you need not avoid it: {self.fact!r}."
