"""File name patterns: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, and `**` across directories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import lru_cache

MAX_ALTERNATIVES = 1000
"""Braces multiply: `{a,b}{a,b}…` is given up beyond this many alternatives."""


class PatternTooBroad(ValueError):
    """Braces that stand for more than `MAX_ALTERNATIVES` patterns."""


class Glob:
    """One pattern, for paths relative to the directory that is searched."""

    def __init__(
        self, pattern: str, *, braces: bool = True, dot: bool = True, ignore_case: bool = False
    ) -> None:
        """Compiles `pattern`.

        Args:
            pattern: Parts are separated by `/`; a leading one is ignored.
            braces: Whether `{a,b}` are alternatives.
            dot: Whether a wildcard matches a leading dot.
            ignore_case: Whether `A` and `a` are the same.

        Raises:
            PatternTooBroad: too many alternatives.
        """
        self._dot = dot
        flags = re.IGNORECASE if ignore_case else 0
        alternatives = expand_braces(pattern) if braces else [pattern]
        self._patterns = [
            [_Part(part, flags) for part in alternative.split("/") if part]
            for alternative in alternatives
            # Only directories have a trailing slash, and only files are asked about.
            if not (alternative.endswith("/") and not alternative.endswith("**/"))
        ]

    def matches(self, path: str) -> bool:
        """Whether the whole path fits."""
        names = path.split("/")
        return any(self._fits(names, parts) for parts in self._patterns)

    def matches_name(self, path: str) -> bool:
        """Whether the last part of the path fits."""
        name = path.rpartition("/")[2]
        return any(
            len(parts) == 1 and parts[0].fits(name, dot=self._dot) for parts in self._patterns
        )

    def _fits(self, names: Sequence[str], parts: Sequence[_Part]) -> bool:
        """Whether `names` fit `parts`.

        Row by row, so that many `**` cost no more than length times length.
        """
        reached = {0}
        for part in parts:
            reached = self._after(names, reached, part, last=part is parts[-1])
            if not reached:
                return False
        return len(names) in reached

    def _after(
        self, names: Sequence[str], reached: set[int], part: _Part, *, last: bool
    ) -> set[int]:
        if not part.any_depth:
            return {
                at + 1 for at in reached if at < len(names) and part.fits(names[at], dot=self._dot)
            }
        after: set[int] = set()
        for at in sorted(reached):
            # A trailing `**` wants something below the directory.
            if not last:
                after.add(at)
            for below in range(at, len(names)):
                if not self._dot and names[below].startswith("."):
                    break
                after.add(below + 1)
        return after


class _Part:
    """One part of a pattern, between two slashes."""

    __slots__ = ("_fits", "any_depth", "dotted")

    def __init__(self, part: str, flags: int) -> None:
        self.any_depth = part == "**"
        self.dotted = part.startswith(".")
        self._fits = _name_pattern(part, flags)

    def fits(self, name: str, *, dot: bool) -> bool:
        if not dot and name.startswith(".") and not self.dotted:
            return False
        return self._fits.match(name) is not None


@lru_cache(maxsize=1024)
def _name_pattern(part: str, flags: int) -> re.Pattern[str]:
    # `fnmatch` knows only `[!a]`; shells and ripgrep also read `[^a]`.
    return re.compile(translate(re.sub(r"\[\^(?=[^\]]+\])", "[!", part)), flags)


def expand_braces(pattern: str) -> list[str]:
    """`a{b,c}` → `ab`, `ac`; nested groups too. A group without a comma is literal.

    Raises:
        PatternTooBroad: too many alternatives.
    """
    done: list[str] = []
    todo = [("", pattern)]
    while todo:
        before, rest = todo.pop()
        start = rest.find("{")
        end = _group_end(rest, start) if start >= 0 else -1
        if end < 0:
            done.append(before + rest)
        else:
            options = _options(rest[start + 1 : end])
            if len(options) == 1:
                todo.append((before + rest[: end + 1], rest[end + 1 :]))
            else:
                head, tail = before + rest[:start], rest[end + 1 :]
                todo += [(head, option + tail) for option in reversed(options)]
        if len(done) + len(todo) > MAX_ALTERNATIVES:
            raise PatternTooBroad(pattern)
    return done


def _group_end(text: str, start: int) -> int:
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return -1


def _options(body: str) -> list[str]:
    options, depth = [""], 0
    for char in body:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            options.append("")
        else:
            options[-1] += char
    return options
