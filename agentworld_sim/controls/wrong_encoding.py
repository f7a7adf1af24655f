"""`wrong-encoding`: letters beyond ASCII are read in another encoding."""

from __future__ import annotations

from dataclasses import dataclass

from agentworld_sim.controls.observation_parts import change_texts
from agentworld_sim.controls.selective_control import AnswerControl
from agentworld_sim.ports import StepContext
from agentworld_sim.types.turns import Observation


@dataclass(frozen=True, kw_only=True)
class WrongEncoding(AnswerControl):
    """Answers are UTF-8 that is read as another encoding."""

    encoding: str = "latin-1"
    """What they are read as, by its name in Python."""

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            if "ä" != "ä".encode().decode(self.encoding, "replace"):
                return
        except LookupError:
            pass
        allowed = "give one that is not UTF-8, such as latin-1"
        raise self.refusal("encoding", repr(self.encoding), allowed)

    async def change(self, step: StepContext, observation: Observation) -> Observation:
        return change_texts(
            observation,
            lambda text: text.encode("utf-8", "replace").decode(self.encoding, "replace"),
        )

    def describe(self) -> str:
        return (
            f"Answers to {self.calls} are read as {self.encoding} afterwards: write them as usual."
        )
