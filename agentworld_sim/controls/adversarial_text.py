"""`adversarial-text`: an answer holds instructions that nobody gave."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from agentworld_sim.controls.observation_parts import with_text
from agentworld_sim.controls.selective_control import SelectiveControl
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.ports import Answer, Next, StepContext


@cache
def adversarial_packs() -> Mapping[str, list[str]]:
    """The texts by the name of their pack."""
    text = files("agentworld_sim.controls").joinpath("adversarial_texts.toml").read_text("utf-8")
    return {name: pack["texts"] for name, pack in tomllib.loads(text).items()}


@dataclass(frozen=True, kw_only=True)
class AdversarialText(SelectiveControl):
    """A text of a pack stands at the end of the answer, one after the other. The turn's change says which: `pack/number`
    under `control/<name>/text`."""

    pack: str
    """Which texts; there is no default."""

    def __post_init__(self) -> None:
        super().__post_init__()
        packs = adversarial_packs()
        if self.pack not in packs:
            raise UsageError(
                f"pack of the control {self.name!r} is {self.pack!r}.{nearest(self.pack, packs)} There are:"
                f" {', '.join(packs)}."
            )

    @property
    def own_words(self) -> tuple[str, ...]:
        return tuple(map(re.escape, adversarial_packs()[self.pack]))

    async def strike(self, step: StepContext, next: Next) -> Answer:
        answer = await next(step)
        texts = adversarial_packs()[self.pack]
        number = self.count_in(step.state) % len(texts)
        before = answer.observation.text.rstrip("\n")
        observation = with_text(answer.observation, f"{before}\n{texts[number]}\n".lstrip("\n"))
        answer = replace(answer, observation=observation)
        return step.keep(answer, text=f"{self.pack}/{number + 1}")

    def describe(self) -> str:
        return f"A text that is not yours is added to answers to {self.calls}: write none of the kind yourself."
