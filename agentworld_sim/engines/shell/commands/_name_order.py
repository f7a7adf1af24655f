"""How wide names are, and the order of names that hold version numbers."""

from __future__ import annotations

import re
import unicodedata


def width_of(text: str) -> int:
    """Columns on a screen; escape sequences take none."""
    plain = re.sub(r"\x1b\[[0-9;]*[mK]", "", text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in plain
    )


def version_key(name: str) -> tuple[object, ...]:
    """The order of `ls -v` and `sort -V`: digits by value, `~` first, letters before others.

    Source: gnulib's filevercmp.
    """
    if name in ("", ".", ".."):
        return (("", ".", "..").index(name),)
    stem = re.sub(r"(?:\.[A-Za-z~][A-Za-z0-9~]*)*\Z", "", name) if name[0] != "." else name
    return (3, *_version_parts(stem), -1, *_version_parts(name))


def _version_parts(text: str) -> tuple[object, ...]:
    parts: list[object] = []
    for letters, digits in re.findall(r"([^0-9]*)([0-9]*)", text):
        if letters or digits:
            parts.append((*map(_version_order, letters), 0))
            parts.append(int(digits or "0"))
    return tuple(parts)


def _version_order(char: str) -> int:
    if char == "~":
        return -1
    return ord(char) if char.isalpha() else ord(char) + 256
