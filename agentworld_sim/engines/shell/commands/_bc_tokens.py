"""The words of the language of `bc`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r'(?P<skip>[ \t]+|\\\n|/\*.*?\*/|#[^\n]*)|(?P<string>"[^"]*")'
    r"|(?P<number>[0-9A-F]+\.?[0-9A-F]*|\.[0-9A-F]+)|(?P<name>\.|[a-z][a-z0-9_]*)"
    r"|(?P<op>\+\+|--|[-+*/%^]=|==|<=|>=|!=|&&|\|\||[-+*/%^=<>!(){}\[\],;\n])",
    re.DOTALL,
)

ASSIGN = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "^="})
WORDS = frozenset(
    [
        "auto",
        "break",
        "continue",
        "define",
        "else",
        "for",
        "halt",
        "if",
        "last",
        "length",
        "limits",
        "print",
        "quit",
        "read",
        "return",
        "scale",
        "sqrt",
        "while",
        "ibase",
        "obase",
        "warranty",
    ]
)


def tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if not found:
            yield "bad", text[at]
            at += 1
            continue
        at = found.end()
        kind = found.lastgroup or ""
        if kind != "skip":
            yield kind, found[0]
    yield "op", "\n"
    yield "end", ""
