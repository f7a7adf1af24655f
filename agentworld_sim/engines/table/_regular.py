"""Texts that fit a regular expression, as JSON Schema's `pattern` uses them."""

from __future__ import annotations

import re
import string

from agentworld_sim.engines.table._drawing import Draw
from agentworld_sim.schema.limits import is_pattern, pattern_fits

_WORD = string.ascii_letters + string.digits + "_"
_CLASSES = {"d": string.digits, "w": string.ascii_lowercase + string.digits, "s": " "}
_PRINTABLE = "".join(map(chr, range(32, 127)))
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
MOST = 64
"""Characters that an open repetition is cut to."""


class _CannotWrite(Exception):
    """The expression uses something this does not know."""


def text_for(
    pattern: str, draw: Draw, *, tries: int = 8, least: int = 0, most: int | None = None
) -> str | None:
    """A text that fits `pattern`; `None` when none was found.

    Args:
        pattern: The expression.
        draw: What chooses.
        tries: How often it is tried; a text of a look-ahead may fail.
        least: How long the text must be.
        most: How long it may be.
    """
    if not is_pattern(pattern):
        # What is no pattern fits any text, and says nothing of what to write.
        return None
    for number in range(tries):
        try:
            text = _Writer(pattern, draw.at("pattern", number), least).written()
            if pattern_fits(pattern, text) and (most is None or len(text) <= most):
                return text
        except (_CannotWrite, re.error, RecursionError, IndexError, ValueError):
            return None
    return None


class _Writer:
    """Reads an expression once from left to right and writes a text that it matches."""

    def __init__(self, pattern: str, draw: Draw, least: int) -> None:
        self._pattern = pattern
        self._at = 0
        self._draw = draw
        self._count = 0
        self._least = least

    def written(self) -> str:
        text = self._alternatives()
        if self._at < len(self._pattern):
            raise _CannotWrite(self._pattern)
        return text

    def _below(self, limit: int) -> int:
        self._count += 1
        return self._draw.below(limit, self._count)

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _alternatives(self) -> str:
        found = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            found.append(self._sequence())
        return found[self._below(len(found))]

    def _sequence(self) -> str:
        parts: list[str] = []
        while self._next() not in ("", "|", ")"):
            start = self._at
            once = self._atom()
            least, most = self._repetition()
            if (least, most) == (1, 1):
                parts.append(once)
                continue
            end = self._at
            times = least + self._below(most - least + 1)
            for _ in range(min(times, MOST)):
                self._at = start
                parts.append(self._atom())
            self._at = end
        return "".join(parts)

    def _repetition(self) -> tuple[int, int]:
        sign = self._next()
        least, most = 1, 1
        if sign in ("*", "+", "?"):
            self._at += 1
            few = max(self._least, 1)
            least, most = {"*": (few, few + 7), "+": (few, few + 7), "?": (0, 1)}[sign]
        elif sign == "{":
            bounds = re.compile(r"\{(\d+)(,?)(\d*)\}").match(self._pattern, self._at)
            if bounds is None:
                return 1, 1
            self._at = bounds.end()
            least = int(bounds[1])
            most = int(bounds[3] or least + 4) if bounds[2] else least
            most = min(most, max(least, self._least) + 12)
            if most > 4096:
                raise _CannotWrite(self._pattern)
        if self._next() in ("?", "+") and (least, most) != (1, 1):
            self._at += 1
        return least, most

    def _atom(self) -> str:
        sign = self._next()
        self._at += 1
        if sign == "(":
            return self._group()
        if sign == "[":
            characters = self._class()
            return characters[self._below(len(characters))]
        if sign == "\\":
            return self._escape()
        if sign in ("^", "$"):
            return ""
        if sign == ".":
            return string.ascii_lowercase[self._below(26)]
        return sign

    def _group(self) -> str:
        dropped = False
        if self._next() == "?":
            rest = self._pattern[self._at :]
            head = re.match(r"\?(?::|=|!|<=|<!|P?<\w+>)", rest)
            if head is None:
                raise _CannotWrite(self._pattern)
            self._at += head.end()
            dropped = head[0] in ("?=", "?!", "?<=", "?<!")
        text = self._alternatives()
        if self._next() != ")":
            raise _CannotWrite(self._pattern)
        self._at += 1
        return "" if dropped else text

    def _escape(self) -> str:
        sign = self._next()
        self._at += 1
        if sign == "p":
            members = self._property()
            return members[self._below(len(members))]
        if sign in _CLASSES:
            return _CLASSES[sign][self._below(len(_CLASSES[sign]))]
        if sign in ("D", "W", "S"):
            return "-" if sign == "W" else string.ascii_lowercase[self._below(26)]
        if sign in ("b", "B", "A", "Z", "z"):
            return ""
        if sign == "u":
            self._at += 4
            return chr(int(self._pattern[self._at - 4 : self._at], 16))
        if sign.isalnum() and sign not in _ESCAPES:
            raise _CannotWrite(self._pattern)
        return _ESCAPES.get(sign, sign)

    def _property(self) -> str:
        """What `\\p{L}` may be."""
        named = re.compile(r"\{(\w+)\}").match(self._pattern, self._at)
        if named is None or named[1][0] not in "LN":
            raise _CannotWrite(self._pattern)
        self._at = named.end()
        return string.ascii_lowercase if named[1][0] == "L" else string.digits

    def _class(self) -> str:
        negated = self._next() == "^"
        self._at += negated
        members: list[str] = []
        first = True
        while first or self._next() != "]":
            first = False
            member = self._member()
            if len(member) == 1 and self._next() == "-" and self._pattern[self._at + 1] != "]":
                self._at += 1
                last = self._member()
                members += map(chr, range(ord(member), ord(last) + 1))
            else:
                members += member
        self._at += 1
        if negated:
            held = set(members)
            usual = string.ascii_lowercase + string.digits
            members = [one for one in usual if one not in held] or [
                one for one in _PRINTABLE if one not in held
            ]
        if not members:
            raise _CannotWrite(self._pattern)
        plain = [one for one in members if one in string.ascii_lowercase + string.digits]
        return "".join(plain or members)

    def _member(self) -> str:
        sign = self._pattern[self._at]
        self._at += 1
        if sign != "\\":
            return sign
        kind = self._pattern[self._at]
        self._at += 1
        if kind == "w":
            return _WORD
        if kind in ("d", "s"):
            return _CLASSES[kind]
        if kind == "p":
            return self._property()
        if kind == "u":
            self._at += 4
            return chr(int(self._pattern[self._at - 4 : self._at], 16))
        return _ESCAPES.get(kind, kind)
