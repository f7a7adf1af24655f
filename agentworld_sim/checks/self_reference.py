"""Finding sentences in which an observation speaks of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache

from agentworld_sim.checks.paths import named_texts
from agentworld_sim.ports.checks import CheckInput
from agentworld_sim.types.turns import Observation

END_CHARS = 400_000
"""Of a longer text the beginning and the end are judged: what speaks of itself stands there."""

Known = str | Callable[[], str]
"""What was said in the world before; a function where it costs something to collect."""


def first_said(
    text: str, pattern: re.Pattern[str], roots: Sequence[str], known: Known
) -> str | None:
    """The first match of `pattern` that says something new.

    A match is exempt when every one of the roots in it is part of what was said before, or all of it
    is.

    Args:
        text: What is judged, in any case.
        pattern: Matches lower-case text; every match holds at least one root.
        roots: Beginnings of words, in lower case.
        known: What was said before.
    """
    if len(text) > 2 * END_CHARS:
        text = f"{text[:END_CHARS]}\n{text[-END_CHARS:]}"
    lowered = text.lower()
    if not any(root in lowered for root in roots):
        return None

    @cache
    def before() -> str:
        return (known if isinstance(known, str) else known()).lower()

    @cache
    def is_known(words: str) -> bool:
        return words in before()

    for found in pattern.finditer(lowered):
        used = [root for root in roots if root in found[0]]
        if not (used and all(map(is_known, used))) and not is_known(found[0].strip()):
            return " ".join(found[0].split())
    return None


def told(observation: Observation) -> str:
    """All that an observation tells, as one text."""
    if observation.structured is None:
        return observation.text
    return f"{observation.text}\n{json.dumps(observation.structured, ensure_ascii=False)}"


def known_words(given: CheckInput) -> str:
    """What stands in the call, in the tool's description, in earlier turns and in the named files."""
    parts = [given.tool.name, given.tool.description, given.call.name]
    parts.append(json.dumps(dict(given.call.arguments), ensure_ascii=False, default=str))
    for turn in given.history:
        parts += [turn.action.text, told(turn.observation)]
    parts += named_texts(given)
    return "\n".join(parts)
