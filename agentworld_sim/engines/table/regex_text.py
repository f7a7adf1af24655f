"""Texts that fit a regular expression, as JSON Schema's `pattern` uses them."""

from __future__ import annotations

import random
import re
from typing import Any

from rstr import Rstr

from agentworld_sim.engines.table.plausible import SeededRandom
from agentworld_sim.schema.limits import in_python, is_pattern, pattern_fits

LONGEST_REPETITION = 4096


def text_for(
    pattern: str, draw: SeededRandom, *, tries: int = 8, least: int = 0, most: int | None = None
) -> str | None:
    """A text of `least` to `most` characters that fits `pattern`; `None` when none was found in so
    many tries: a text of a look-ahead may fail."""
    if not is_pattern(pattern):
        # What is no pattern fits any text, and says nothing of what to write.
        return None
    written = _without_properties(in_python(pattern))
    for number in range(tries):
        try:
            text = _Writer(draw.derive("pattern", number), least).xeger(written)
        except (re.error, RecursionError, OverflowError, LookupError, ValueError):
            return None
        if pattern_fits(pattern, text) and (most is None or len(text) <= most):
            return text
    return None


_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]")
_PROPERTY = re.compile(r"\\p\{([LN])\w*\}")


def _without_properties(pattern: str) -> str:
    """With members of `\\p{L}` and `\\p{N}` in their place: Python knows no properties."""
    members = {"L": "a-z", "N": "0-9"}
    inside = _CLASS.sub(lambda found: _PROPERTY.sub(lambda one: members[one[1]], found[0]), pattern)
    return _PROPERTY.sub(lambda one: f"[{members[one[1]]}]", inside)


class _Writer(Rstr):
    """Writes short, plain texts, and the same ones in every process.

    As it is, rstr takes the members of `[^…]` in the order of a set, repeats up to a hundred times and
    takes `.` for any printable character.
    """

    def __init__(self, draw: SeededRandom, least: int) -> None:
        super().__init__(random.Random(draw.number("text")))
        self._least = least
        self._cases = {**self._cases, "any": self._any, "assert": self._nothing}

    def _any(self, _: Any) -> str:
        return self.lowercase(1)

    def _nothing(self, _: Any) -> str:
        return ""

    def _handle_in(self, value: Any) -> str:
        members = [one for state in value for one in self._handle_state(state)]
        if members[0] is False:
            held = set(members)
            members = [chr(code) for code in range(32, 127) if chr(code) not in held]
        plain = [one for one in members if one.isdigit() or ("a" <= one <= "z")]
        return self._random.choice(plain or members)

    def _handle_repeat(self, start_range: int, end_range: int, value: Any) -> str:
        if end_range > LONGEST_REPETITION:
            start_range = max(start_range, self._least, 1)
            end_range = start_range + 7
        else:
            end_range = min(end_range, max(start_range, self._least) + 12)
        return super()._handle_repeat(start_range, end_range, value)
