"""The category of a turn, and how much of it stays in the loss.

After Qwen-AgentWorld's report (arXiv 2606.24597): four statistics of the sets of words of an action A
and an observation O, and seven categories made of them. What is masked stays in the context.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from agentworld_trainers.masking._settings import Category, MaskSettings

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
