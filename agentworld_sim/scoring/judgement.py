"""Reading what a judge says. What is not exactly of the form is unreadable; nothing is guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.imagination.parsing import THINKING_TAG

DIMENSIONS = ("format", "factuality", "consistency", "realism", "quality")
VERDICT_TAG = "final_evaluation"

_BLOCK = re.compile(rf"<{VERDICT_TAG}>(.*?)</{VERDICT_TAG}>", re.DOTALL)
_OPENING = re.compile(rf"<{VERDICT_TAG}>")
_FENCED = re.compile(r"\s*(`{3,})(?:json)?[ \t]*\n(.*?)\n?[ \t]*\1\s*", re.DOTALL)
_THOUGHT = f"</{THINKING_TAG}>"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Five ratings."""

    scores: Mapping[str, float]
    """Each dimension's, in [1, 5]."""

    @property
    def rubric(self) -> float:
        """The mean of the dimensions times 5, in [5, 25] (arXiv 2606.24597)."""
        return 5.0 * sum(self.scores.values()) / len(self.scores)


def read_judgement(text: str) -> Judgement | str:
    """The ratings in a judge's reply, or why it is unreadable.

    A reply with more than one block is unreadable: one of them may be quoted from the prediction.
    """
    said = text.rpartition(_THOUGHT)[2]
    blocks = _BLOCK.findall(said)
    if len(blocks) != 1 or len(_OPENING.findall(said)) != 1:
        return f"{len(_OPENING.findall(said))} blocks <{VERDICT_TAG}>, and there must be one"
    fenced = _FENCED.fullmatch(blocks[0])
    try:
        value = json.loads(
            fenced[2] if fenced else blocks[0],
            object_pairs_hook=_without_repeats,
            parse_constant=_no_number,
        )
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error}"
    scores: Any = cast("dict[str, Any]", value).get("scores") if isinstance(value, dict) else None
    if not isinstance(scores, dict):
        return "there is no object 'scores'"
    return _scores(cast("dict[str, Any]", scores))


def _scores(given: Mapping[str, Any]) -> Judgement | str:
    found: dict[str, float] = {}
    for name in DIMENSIONS:
        value = given.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"the score {name!r} is {'missing' if value is None else 'no number'}"
        if not 1 <= value <= 5:
            return f"the score {name!r} is {value}, and must be from 1 to 5"
        found[name] = float(value)
    return Judgement(found)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands there twice")
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
