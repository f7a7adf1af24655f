"""POSIX basic regular expressions, as GNU tools read them, in Python's syntax."""

from __future__ import annotations

import re

_BRACKET = re.compile(r"\[\^?\]?(?:\[:\w+:\]|[^\]])*\]")
_CLASSES = {
    "[:alpha:]": "A-Za-z", "[:digit:]": "0-9", "[:alnum:]": "A-Za-z0-9", "[:upper:]": "A-Z",
    "[:lower:]": "a-z", "[:space:]": r"\s", "[:blank:]": r" \t", "[:punct:]": r"!-/:-@\[-`{-~",
    "[:xdigit:]": "0-9A-Fa-f", "[:print:]": " -~", "[:graph:]": "!-~", "[:cntrl:]": r"\x00-\x1f",
}  # fmt: skip


def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A basic regular expression, GNU's `\\+`, `\\?` and `\\|` included.

    Raises:
        re.error: parentheses or brackets do not match.
    """
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern):
            parts.append(_escaped(pattern[at + 1]))
            at += 2
            continue
        found = _BRACKET.match(pattern, at) if char == "[" else None
        if found:
            parts.append(_bracket(found[0]))
            at = found.end()
            continue
        parts.append(_plain(char, pattern, at))
        at += 1
    return re.compile("".join(parts), flags)


def _escaped(char: str) -> str:
    if char in "(){}|+?":
        return char
    if char in "wWsSbB" or char.isdigit():
        return "\\" + char
    return {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "`": r"\A", "'": r"\Z"}.get(char, re.escape(char))


def _bracket(text: str) -> str:
    inner = text[1:-1]
    negated = inner.startswith("^")
    inner = inner[1:] if negated else inner
    inner = inner.replace("\\", "\\\\").replace("&&", "&\\&").replace("--", "-\\-")
    pieces = re.split(r"(\[:\w+:\])", inner)
    body = "".join(_CLASSES.get(p, p.replace("[", "\\[").replace("]", "\\]")) for p in pieces)
    return f"[{'^' if negated else ''}{body}]"


def _plain(char: str, pattern: str, at: int) -> str:
    opening = at == 0 or pattern[:at].endswith((r"\(", r"\|"))
    if char == "^":
        return "^" if opening else r"\^"
    if char == "$":
        last = at == len(pattern) - 1 or pattern[at + 1 :].startswith((r"\)", r"\|"))
        return "$" if last else r"\$"
    if char == "*" and (opening or pattern[:at] == "^"):
        return r"\*"
    return "\\" + char if char in "(){}|+?" else char
