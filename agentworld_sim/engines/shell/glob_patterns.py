"""File name patterns of tools and commands: `*`, `?`, `[a-z]`, `[!a]`, `{a,b}`, `**` across directories.

Each part of a path becomes a regular expression that never goes back over a `*`, so that no pattern can
hang a world. wcmatch, which reads the same patterns, makes expressions that can; its braces (`bracex`) are
used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from agentworld_sim.errors import EngineFailure

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

_GROUP = re.compile(r"(?<!\\)[*+!?@]\([^)]*\)")


@dataclass(frozen=True, slots=True)
class _Part:
    """A pattern between two slashes."""

    text: str
    regex: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> _Part:
        return cls(text, _regex(text))

    def fits(self, name: str, *, dot: bool) -> bool:
        if not dot and name.startswith(".") and not self.text.startswith("."):
            return False
        return self.regex.fullmatch(name) is not None


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
        self._dot, self._ignore_case = dot, ignore_case
        pattern = pattern.lower() if ignore_case else pattern
        self._alternatives = [
            [_Part.of(part) for part in one.split("/") if part]
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
    """Whether `path` fits `pattern` as the npm package `minimatch` reads it, with `!` at the beginning for
    everything else and `#` for a comment. Wildcards match a leading dot.

    Raises:
        PatternTooBroad: too many alternatives.
        EngineFailure: it holds one of the groups `!(…)`, `+(…)`, `*(…)`, `?(…)` and `@(…)`.
    """
    if pattern.startswith("#"):
        return False
    bare = pattern.lstrip("!")
    if _GROUP.search(bare):
        raise EngineFailure(
            f"The pattern {pattern!r} holds a group such as `!(a|b)`, which is not computed. Write"
            " alternatives in braces: `{a,b}`."
        )
    wanted = (len(pattern) - len(bare)) % 2 == 0
    if not bare:
        return (not path) is wanted
    names = path.split("/")
    return any(_path_fits(names, one, dot=True) for one in _minimatch_parts(bare)) is wanted


def name_matcher(pattern: str, *, ignore_case: bool = False) -> Callable[[str], bool]:
    """Whether a text fits a pattern to which slashes are nothing special, as C's `fnmatch` reads it."""
    regex = _regex(pattern.lower() if ignore_case else pattern)
    return lambda text: bool(regex.fullmatch(text.lower() if ignore_case else text))


@lru_cache(maxsize=256)
def _minimatch_parts(pattern: str) -> list[list[_Part]]:
    return [[_Part.of(part) for part in re.split("/+", one)] for one in _expand_braces(pattern)]


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
        if part.text == "**":
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


def _regex(pattern: str) -> re.Pattern[str]:
    """`pattern`, between two slashes, for `fullmatch`."""
    pieces, at = [""], 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[":
            text, at = _class(pattern, at)
            pieces[-1] += text
        elif char == "\\" and at < len(pattern):
            pieces[-1] += re.escape(pattern[at])
            at += 1
        else:
            pieces[-1] += re.escape(char)
    first, *rest = pieces
    # What stands between two stars has one length, so its first place is as good as any later one.
    middle = "".join(f"(?>.*?{piece})" for piece in rest[:-1] if piece)
    return re.compile(first + middle + (f".*{rest[-1]}" if rest else ""), re.DOTALL)


def _class(pattern: str, at: int) -> tuple[str, int]:
    """The class that begins after a bracket, as a regular expression, and where it ends."""
    # A bracket that comes first is one of the class.
    first = at + (pattern[at : at + 1] in ("!", "^"))
    end = pattern.find("]", first + 1)
    while end > 0 and pattern[:end].endswith(":"):
        # The bracket of `[:alpha:]` is not the class's own.
        end = pattern.find("]", end + 1)
    if end < 0:
        return r"\[", at
    body = pattern[at:end]
    negated = body[:1] in ("!", "^")
    inner = re.sub(r"\[:(\w+):\]", lambda found: f"\0{found[1]}\0", body[negated:])
    escaped = re.sub(r"(?<!\\)[\[\]^&~|]", r"\\\g<0>", inner)
    spelt = re.sub("\0(\\w+)\0", lambda found: _POSIX.get(found[1], ""), escaped)
    text = f"[{'^' if negated else ''}{spelt}]"
    try:
        re.compile(text)
    except re.error:
        return "(?!)", end + 1
    return text, end + 1
