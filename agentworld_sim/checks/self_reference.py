"""Checks of sentences in which an observation speaks of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, Literal

from agentworld_sim.checks.file_calls import texts_of_files
from agentworld_sim.ports.steps import CheckInput
from agentworld_sim.types.turns import Observation

END_CHARS = 400_000
"""Of a longer text the beginning and the end are judged: what speaks of itself stands there."""

Known = str | Callable[[], str]
"""What was said in the world before; a function where it costs something to collect."""


class SelfReferenceCheck:
    """A kind of sentence that is refused, unless it was said in the world before.

    Words that stand in the call, in the tool's description, in an earlier turn or in a file that the call names are
    exempt: a file about simulators may be read, and searched for them.
    """

    name: str = ""
    scope: Literal["imagined"] = "imagined"
    pattern: ClassVar[re.Pattern[str]]
    """Matches lower-case text; every match holds at least one root."""
    roots: ClassVar[Sequence[str]]
    """Beginnings of words, in lower case."""
    reason: ClassVar[str]
    """Written for whoever must answer again, with a place for what was said."""

    def judge(self, given: CheckInput) -> str | None:
        return self.problem(all_text(given.observation), lambda: known_words(given))

    @classmethod
    def problem(cls, text: str, known: Known = "") -> str | None:
        """Why a text is refused; `None` if it is not.

        Args:
            text: An observation, or what a command wrote.
            known: What was said in the world before; words that stand there may be used.
        """
        if len(text) > 2 * END_CHARS:
            text = f"{text[:END_CHARS]}\n{text[-END_CHARS:]}"
        lowered = text.lower()
        if not any(root in lowered for root in cls.roots):
            return None

        @cache
        def before() -> str:
            return (known if isinstance(known, str) else known()).lower()

        for found in cls.pattern.finditer(lowered):
            used = [root for root in cls.roots if root in found[0]]
            if not all(root in before() for root in used) and found[0].strip() not in before():
                return cls.reason.format(" ".join(found[0].split())[:80])
        return None


def all_text(observation: Observation) -> str:
    """All that an observation tells, as one text."""
    if observation.structured is None:
        return observation.text
    return f"{observation.text}\n{json.dumps(observation.structured, ensure_ascii=False)}"


def known_words(given: CheckInput) -> str:
    """What stands in the call, in the tool's description, in earlier turns and in the named files."""
    parts = [given.tool.name, given.tool.description, given.call.name]
    parts.append(json.dumps(dict(given.call.arguments), ensure_ascii=False, default=str))
    for turn in given.history:
        parts += [turn.action.text, all_text(turn.observation)]
    parts += texts_of_files(given)
    return "\n".join(parts)
