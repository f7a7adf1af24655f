"""How wide names are, and the order of names that hold version numbers."""

from __future__ import annotations

import re
import unicodedata
from functools import cmp_to_key


def width_of(text: str) -> int:
    """Columns on a screen; escape sequences take none."""
    plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in plain
    )


def compared(a: str, b: str) -> int:
    """The order of `ls -v` and `sort -V`: negative when `a` comes first.

    Source: gnulib's filevercmp.c: digits by value, `~` before everything, letters before other
    characters; file name suffixes count only where the rest is equal.
    """
    for special in ("", ".", ".."):
        if special in (a, b):
            return (a != special) - (b != special)
    if a.startswith(".") != b.startswith("."):
        return -1 if a.startswith(".") else 1
    return _by_parts(_stem(a), _stem(b)) or _by_parts(a, b)


version_key = cmp_to_key(compared)


def _stem(name: str) -> str:
    return re.sub(r"(?:\.[A-Za-z~][A-Za-z0-9~]*)*\Z", "", name)


def _by_parts(a: str, b: str) -> int:
    i = j = 0
    while i < len(a) or j < len(b):
        while (i < len(a) and not a[i].isdigit()) or (j < len(b) and not b[j].isdigit()):
            difference = _weight(a, i) - _weight(b, j)
            if difference:
                return difference
            i, j = i + 1, j + 1
        first, second = _digits(a, i), _digits(b, j)
        i, j = i + len(first), j + len(second)
        difference = int(first or "0") - int(second or "0")
        if difference:
            return difference
    return 0


def _digits(text: str, at: int) -> str:
    found = re.compile(r"[0-9]*").match(text, at)
    return found[0] if found else ""


def _weight(text: str, at: int) -> int:
    if at >= len(text):
        return -1
    char = text[at]
    if char.isdigit():
        return 0
    if char == "~":
        return -2
    return ord(char) if char.isascii() and char.isalpha() else ord(char) + 256
