"""File name patterns as the npm package `minimatch` reads them, wildcards matching a leading dot.

Beside `*`, `?`, classes, braces and `**`: `!` at the beginning for everything else, `#` for a comment,
and `?(a|b)`, `*(a|b)`, `+(a|b)`, `@(a|b)` and, not at the beginning, `!(a|b)`. Matched by following all positions at once, in
time that grows with the text only: no pattern can hang a world.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from agentworld_sim.engines.shell.toolkits._globs import expand_braces

_POSIX = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "xdigit": "0-9a-fA-F",
    "word": r"\w",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
}
_RANGE = re.compile(r"\{(?:(-?\d+)\.\.(-?\d+)|([a-zA-Z])\.\.([a-zA-Z]))(?:\.\.(-?\d+))?\}")
_LONGEST_RANGE = 1000

_Step = Callable[[str, set[int]], set[int]]
"""From the positions reached in a name to those after one more piece of the pattern."""


def matches(path: str, pattern: str) -> bool:
    """Whether `path`, relative to where is searched, fits `pattern`.

    Raises:
        PatternTooBroad: braces that stand for too many patterns.
    """
    if pattern.startswith("#"):
        return False
    bare = pattern.lstrip("!")
    wanted = (len(pattern) - len(bare)) % 2 == 0
    if not bare:
        return (not path) is wanted
    names = path.split("/")
    return any(_fits(names, one) for one in _alternatives(bare)) is wanted


@lru_cache(maxsize=256)
def _alternatives(pattern: str) -> tuple[tuple[tuple[_Step, ...] | None, ...], ...]:
    """The patterns that braces stand for, each as its parts; `None` stands for `**`."""
    return tuple(
        tuple(
            None if part == "**" else tuple(_Parser(part).sequence())
            for part in re.split("/+", one)
        )
        for one in expand_braces(_RANGE.sub(_spelt_out, pattern))
    )


def _spelt_out(found: re.Match[str]) -> str:
    """`{1..3}` as `{1,2,3}`."""
    low, high, first, last, by = found.groups()
    start, end = (int(low), int(high)) if low else (ord(first), ord(last))
    step = max(1, abs(int(by or 1)))
    numbers = range(start, end + 1, step) if start <= end else range(start, end - 1, -step)
    if not 1 < len(numbers) <= _LONGEST_RANGE:
        return found.group()
    width = max(map(len, (low, high))) if low and re.match(r"-?0\d", f"{low}") else 0
    words = [f"{number:0{width}d}" if low else chr(number) for number in numbers]
    return "{" + ",".join(words) + "}"


def _fits(names: Sequence[str], parts: Sequence[tuple[_Step, ...] | None]) -> bool:
    reached = {0}
    for number, part in enumerate(parts):
        if part is None:
            # A trailing `**` wants something below the directory, a whole one alone anything.
            least = 1 if number == len(parts) - 1 else 0
            first = min(reached) + least
            reached = set(range(first, len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and _name_fits(names[at], part)}
        if not reached:
            return False
    return len(names) in reached


def _name_fits(name: str, steps: Sequence[_Step]) -> bool:
    reached = {0}
    for step in steps:
        reached = step(name, reached)
        if not reached:
            return False
    return len(name) in reached


class _Parser:
    """Reads one part of a pattern, between two slashes."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def sequence(self, ends: str = "") -> list[_Step]:
        steps: list[_Step] = []
        text = self._text
        while self._at < len(text) and text[self._at] not in ends:
            char = text[self._at]
            if char in "?*+@!" and text[self._at + 1 : self._at + 2] == "(" and self._closes():
                steps.append(self._group(char))
                continue
            self._at += 1
            if char == "*":
                steps.append(_anything)
            elif char == "?":
                steps.append(_one(lambda _: True))
            elif char == "[":
                steps.append(self._class())
            elif char == "\\" and self._at < len(text):
                steps.append(_one(text[self._at].__eq__))
                self._at += 1
            else:
                steps.append(_one(char.__eq__))
        return steps

    def _closes(self) -> bool:
        depth = 0
        for char in self._text[self._at + 1 :]:
            depth += {"(": 1, ")": -1}.get(char, 0)
            if depth == 0:
                return True
        return False

    def _group(self, kind: str) -> _Step:
        self._at += 2
        options = [self.sequence("|)")]
        while self._at < len(self._text) and self._text[self._at] == "|":
            self._at += 1
            options.append(self.sequence("|)"))
        self._at += 1
        return _grouped(kind, options)

    def _class(self) -> _Step:
        end = self._text.find("]", self._at + 1)
        while end > 0 and self._text[:end].endswith(":"):
            # The bracket of `[:alpha:]` is not the class's own.
            end = self._text.find("]", end + 1)
        if end < 0:
            return _one("[".__eq__)
        body = self._text[self._at : end]
        self._at = end + 1
        negated = body[:1] in ("!", "^")
        inner = re.sub(r"\[:(\w+):\]", lambda found: f"\0{found[1]}\0", body[negated:])
        escaped = re.sub(r"(?<!\\)[\[\]^&~|]", r"\\\g<0>", inner)
        spelt = re.sub("\0(\\w+)\0", lambda found: _POSIX.get(found[1], ""), escaped)
        try:
            pattern = re.compile(f"[{'^' if negated else ''}{spelt}]")
        except re.error:
            return _nowhere
        return _one(lambda char: pattern.match(char) is not None)


def _one(fits: Callable[[str], bool]) -> _Step:
    return lambda name, reached: {at + 1 for at in reached if at < len(name) and fits(name[at])}


def _anything(name: str, reached: set[int]) -> set[int]:
    return set(range(min(reached), len(name) + 1))


def _nowhere(name: str, reached: set[int]) -> set[int]:
    return set()


def _grouped(kind: str, options: Sequence[Sequence[_Step]]) -> _Step:
    def once(name: str, reached: set[int]) -> set[int]:
        after: set[int] = set()
        for steps in options:
            now = reached
            for step in steps:
                now = step(name, now) if now else now
            after |= now
        return after

    def repeated(name: str, reached: set[int]) -> set[int]:
        found = once(name, reached)
        new = found
        while new:
            new = once(name, new) - found
            found = found | new
        return found

    def otherwise(name: str, reached: set[int]) -> set[int]:
        return {end for at in reached for end in set(range(at, len(name) + 1)) - once(name, {at})}

    match kind:
        case "@":
            return once
        case "?":
            return lambda name, reached: reached | once(name, reached)
        case "+":
            return repeated
        case "*":
            return lambda name, reached: reached | repeated(name, reached)
        case _:
            return otherwise
