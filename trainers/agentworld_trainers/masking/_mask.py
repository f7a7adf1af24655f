"""The category of a turn, and how much of it stays in the loss; and what the publication leaves open, as settings.

After Qwen-AgentWorld's report (arXiv 2606.24597): four statistics of the sets of words of an action A
and an observation O, and seven categories made of them. What is masked stays in the context. The report does
not state in which order the conditions are asked, what a word is, how many characters are "short", nor what a
share of nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator

Category = Literal["retrieval", "expansion", "action", "transform", "boilerplate", "echo", "other"]
CATEGORIES: tuple[Category, ...] = get_args(Category)

Share = Annotated[float, Field(ge=0, le=1)]

PUBLISHED_KEEP: Mapping[Category, float] = {
    "retrieval": 1.0,
    "expansion": 1.0,
    "action": 1.0,
    "transform": 0.5,
    "boilerplate": 0.1,
    "echo": 0.05,
    "other": 1.0,
}
"""Fraction of an observation's tokens that stays in the loss."""


class MaskSettings(BaseModel):
    """Settings of turn-level loss masking."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    precedence: tuple[Category, ...] = (
        *("retrieval", "expansion", "action"),
        *("echo", "boilerplate", "transform"),
    )
    """The order in which the conditions are asked; the first that holds gives the category, and where
    none does it is `other`. This is the order of publication with the last three turned round: every
    echo fulfils the condition of boilerplate, so it must be asked first to be found at all, and what
    repeats half of its action and little else is boilerplate also when it is the shorter of the two.
    Among the first three the order moves no token, since all three keep everything."""
    keep: Mapping[Category, Share] = Field(default_factory=lambda: dict(PUBLISHED_KEEP))
    """Fraction of the tokens kept; categories that are not named keep the published one."""
    word: str = r"\w+"
    """Regular expression of a word, for lower-cased text. Letters, digits and underscores by default,
    so that the punctuation of JSON and of shells neither hides an equal word nor counts as one."""
    short_characters: Annotated[int, Field(ge=0)] = 80
    """An observation of at most so many characters is short: a line of a terminal."""
    overlap_undefined: Share = 0.0
    """Of an action without words: nothing of it can come back."""
    novelty_undefined: Share = 1.0
    """Of an observation without words. That nothing is printed cannot be read off the action, and
    it is a token or two, so the default keeps it (category `action`)."""
    jaccard_undefined: Share = 1.0
    """Where neither side has words: they are equal. No condition asks for it."""
    empty_action_characters: Annotated[int, Field(ge=1)] = 1
    """What an action without characters counts as, in the ratio."""

    @field_validator("precedence")
    @classmethod
    def _each_once(cls, value: tuple[Category, ...]) -> tuple[Category, ...]:
        wanted = sorted(set(CATEGORIES) - {"other"})
        if sorted(value) != wanted:
            raise ValueError(f"name each of these once: {', '.join(wanted)}")
        return value

    @field_validator("keep")
    @classmethod
    def _complete(cls, value: Mapping[Category, float]) -> Mapping[Category, float]:
        return cast("Mapping[Category, float]", {**PUBLISHED_KEEP, **value})

    @field_validator("word")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            pattern = re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from None
        if pattern.match(""):
            raise ValueError("it matches nothing at all, which is no word")
        if pattern.groups:
            raise ValueError("groups would take a part of each word; write (?:…)")
        return value


DEFAULT_SETTINGS = MaskSettings()


@dataclass(frozen=True, slots=True)
class TurnMask:
    """What was found about one turn."""

    category: Category
    keep: float
    """Fraction of the observation's tokens that stays in the loss."""
    overlap: float
    """Of the action's words, the share that stands in the observation: how much comes back."""
    novelty: float
    """Of the observation's words, the share that does not stand in the action: how much is new."""
    jaccard: float
    """Words in both over words in either."""
    ratio: float
    """Characters of the observation per character of the action."""


def mask_turn(action: str, observation: str, settings: MaskSettings = DEFAULT_SETTINGS) -> TurnMask:
    """Finds the category of a turn.

    Args:
        action: The action in the domain's written form, without heading and fence.
        observation: What the environment said, without the marker.
        settings: What the publication leaves open.
    """
    findall = _word(settings.word).findall
    asked, said = set(findall(action.lower())), set(findall(observation.lower()))
    shared = len(asked & said)
    either = len(asked) + len(said) - shared
    overlap = shared / len(asked) if asked else settings.overlap_undefined
    novelty = (len(said) - shared) / len(said) if said else settings.novelty_undefined
    jaccard = shared / either if either else settings.jaccard_undefined
    ratio = len(observation) / (len(action) or settings.empty_action_characters)
    short = len(observation) <= settings.short_characters
    category: Category = "other"
    for one in settings.precedence:
        if _holds(one, overlap, novelty, ratio, short=short):
            category = one
            break
    return TurnMask(category, settings.keep[category], overlap, novelty, jaccard, ratio)


def _holds(
    category: Category, overlap: float, novelty: float, ratio: float, *, short: bool
) -> bool:
    """The published condition of a category."""
    match category:
        case "retrieval":
            return novelty >= 0.6 and ratio > 1
        case "expansion":
            return overlap >= 0.5 and novelty >= 0.5 and ratio > 1.5
        case "action":
            return novelty >= 0.5 and (ratio <= 1 or short)
        case "transform":
            return novelty < 0.5 and ratio < 1
        case "boilerplate":
            return overlap >= 0.5 and novelty < 0.5
        case "echo":
            return overlap >= 0.7 and novelty < 0.3
        case "other":
            return True


@lru_cache(maxsize=8)
def _word(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
