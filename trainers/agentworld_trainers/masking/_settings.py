"""What the published description of turn-level loss masking leaves open, as settings.

The categories, their conditions and their fractions are those of Qwen-AgentWorld's report
(arXiv 2606.24597). It does not state in which order the conditions are asked, what a word is, how many
characters are "short", nor what a share of nothing is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
