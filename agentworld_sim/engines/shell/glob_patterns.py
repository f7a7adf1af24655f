"""File name patterns of tools and commands: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, `**` across directories,
and the groups of npm's `minimatch`: `?(a|b)`, `*(a|b)`, `+(a|b)`, `@(a|b)`, `!(a|b)`.

Matched by following all positions at once, in time that grows with the text only: no pattern can hang a
world. wcmatch, which reads the same patterns, makes regular expressions of them that can; its braces
(`bracex`) are used.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_ALTERNATIVES = 1000
"""Braces multiply: `{a,b}{a,b}…` is given up beyond this many alternatives."""

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

_SPECIAL = frozenset("*?[\\+@!|()")
"""Where a run of plain characters ends."""

_Step = Callable[[str, set[int]], set[int]]
"""From the positions reached in a name to those after one more piece of the pattern."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A pattern between two slashes."""

    any_depth: bool
    """It is `**`."""
    dotted: bool
    """It begins with a dot, which matches one even where wildcards do not."""
    steps: Sequence[_Step]

    @classmethod
    def of(cls, text: str, *, groups: bool) -> _Part:
        return cls(text == "**", text.startswith("."), _Parser(text, groups=groups).sequence())

    def fits(self, name: str, *, dot: bool) -> bool:
        if not dot and name.startswith(".") and not self.dotted:
            return False
        return _name_fits(name, self.steps)


class PatternTooBroad(ValueError):
    """Braces that stand for more than `MAX_ALTERNATIVES` patterns."""


class Glob:
    """One pattern, for paths relative to the directory that is searched."""

    def __init__(
        self, pattern: str, *, braces: bool = True, dot: bool = True, ignore_case: bool = False
    ) -> None:
        """Compiles `pattern`, whose leading slash counts for nothing.

        With `braces`, `{a,b}` are alternatives; with `dot`, a wildcard matches a leading dot.

        Raises:
            PatternTooBroad: too many alternatives.
        """
        self._dot, self._ignore_case = dot, ignore_case
        pattern = pattern.lower() if ignore_case else pattern
        self._alternatives = [
            [_Part.of(part, groups=False) for part in one.split("/") if part]
            for one in (_expand_braces(pattern) if braces else [pattern])
            # Only directories have a trailing slash, and only files are asked about.
            if not (one.endswith("/") and not one.endswith("**/"))
        ]

    def matches(self, path: str) -> bool:
        """Whether the whole path fits."""
        names = (path.lower() if self._ignore_case else path).split("/")
        return any(_path_fits(names, parts, dot=self._dot) for parts in self._alternatives)

    def matches_name(self, path: str) -> bool:
        """Whether the last part of the path fits."""
        name = path.rpartition("/")[2]
        name = name.lower() if self._ignore_case else name
        return any(
            len(parts) == 1 and parts[0].fits(name, dot=self._dot) for parts in self._alternatives
        )


def minimatch(path: str, pattern: str) -> bool:
    """Whether `path` fits `pattern` as the npm package `minimatch` reads it, with its groups, `!` at the
    beginning for everything else and `#` for a comment. Wildcards match a leading dot.

    Raises:
        PatternTooBroad: too many alternatives.
    """
    if pattern.startswith("#"):
        return False
    bare = pattern.lstrip("!")
    wanted = (len(pattern) - len(bare)) % 2 == 0
    if not bare:
        return (not path) is wanted
    names = path.split("/")
    return any(_path_fits(names, one, dot=True) for one in _minimatch_parts(bare)) is wanted


def name_matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a text fits a pattern to which slashes are nothing special, as C's `fnmatch` reads it."""
    steps = _Parser(pattern, groups=False).sequence()
    return lambda text: _name_fits(text, steps)


@lru_cache(maxsize=256)
def _minimatch_parts(pattern: str) -> list[list[_Part]]:
    alternatives = _expand_braces(pattern)
    return [[_Part.of(part, groups=True) for part in re.split("/+", one)] for one in alternatives]


def _expand_braces(pattern: str) -> list[str]:
    """`a{b,c}` → `ab`, `ac`; nested groups and ranges too. A group without a comma is literal."""
    if "{" not in pattern:
        return [pattern]
    import bracex

    try:
        return bracex.expand(pattern, keep_escapes=True, limit=MAX_ALTERNATIVES)
    except bracex.ExpansionLimitException:
        raise PatternTooBroad(pattern) from None


def _path_fits(names: Sequence[str], parts: Sequence[_Part], *, dot: bool) -> bool:
    """Whether `names` fit `parts`: row by row, so that many `**` cost no more than length times length."""
    reached = {0}
    for part in parts:
        if part.any_depth:
            reached = _at_any_depth(names, reached, last=part is parts[-1], dot=dot)
        else:
            reached = {
                at + 1 for at in reached if at < len(names) and part.fits(names[at], dot=dot)
            }
        if not reached:
            return False
    return len(names) in reached


def _at_any_depth(names: Sequence[str], reached: set[int], *, last: bool, dot: bool) -> set[int]:
    # A trailing `**` wants something below the directory.
    after = set[int]() if last else set(reached)
    for at in reached:
        for below in range(at, len(names)):
            if not dot and names[below].startswith("."):
                break
            after.add(below + 1)
    return after


def _name_fits(name: str, steps: Sequence[_Step]) -> bool:
    reached = {0}
    for step in steps:
        reached = step(name, reached)
        if not reached:
            return False
    return len(name) in reached


class _Parser:
    """Reads one part of a pattern, between two slashes."""

    def __init__(self, text: str, *, groups: bool) -> None:
        self._text, self._groups = text, groups
        self._at = 0

    def sequence(self, ends: str = "") -> list[_Step]:
        steps: list[_Step] = []
        text = self._text
        while self._at < len(text) and text[self._at] not in ends:
            char = text[self._at]
            if self._groups and char in "?*+@!" and self._opens_group():
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
                steps.append(_literal(text[self._at]))
                self._at += 1
            else:
                end = self._at
                while end < len(text) and text[end] not in _SPECIAL:
                    end += 1
                steps.append(_literal(char + text[self._at : end]))
                self._at = end
        return steps

    def _opens_group(self) -> bool:
        depth = 0
        if self._text[self._at + 1 : self._at + 2] != "(":
            return False
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
        return _group_step(kind, options)

    def _class(self) -> _Step:
        # A bracket that comes first is one of the class.
        first = self._at + (self._text[self._at : self._at + 1] in ("!", "^"))
        end = self._text.find("]", first + 1)
        while end > 0 and self._text[:end].endswith(":"):
            # The bracket of `[:alpha:]` is not the class's own.
            end = self._text.find("]", end + 1)
        if end < 0:
            return _literal("[")
        body = self._text[self._at : end]
        self._at = end + 1
        negated = body[:1] in ("!", "^")
        inner = re.sub(r"\[:(\w+):\]", lambda found: f"\0{found[1]}\0", body[negated:])
        escaped = re.sub(r"(?<!\\)[\[\]^&~|]", r"\\\g<0>", inner)
        spelt = re.sub("\0(\\w+)\0", lambda found: _POSIX.get(found[1], ""), escaped)
        try:
            with warnings.catch_warnings():
                # Python may read `--` in another way some day; as of now it reads it as JavaScript does.
                warnings.simplefilter("ignore", FutureWarning)
                pattern = re.compile(f"[{'^' if negated else ''}{spelt}]")
        except re.error:
            return _nowhere
        return _one(lambda char: pattern.match(char) is not None)


def _literal(text: str) -> _Step:
    return lambda name, reached: {at + len(text) for at in reached if name.startswith(text, at)}


def _one(fits: Callable[[str], bool]) -> _Step:
    return lambda name, reached: {at + 1 for at in reached if at < len(name) and fits(name[at])}


def _anything(name: str, reached: set[int]) -> set[int]:
    return set(range(min(reached), len(name) + 1))


def _nowhere(name: str, reached: set[int]) -> set[int]:
    return set()


def _group_step(kind: str, options: Sequence[Sequence[_Step]]) -> _Step:
    def once(name: str, reached: set[int]) -> set[int]:
        after: set[int] = set()
        for steps in options:
            now = reached
            for step in steps:
                now = step(name, now) if now else now
            after |= now
        return after

    def many_times(name: str, reached: set[int]) -> set[int]:
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
            return many_times
        case "*":
            return lambda name, reached: reached | many_times(name, reached)
        case _:
            return otherwise
