"""Whether an awk program surely ends, as far as its text shows."""

from __future__ import annotations

import re

TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_COMMENT = re.compile(r"#[^\n]*")
_LOOPS = re.compile(r"\b(?:while|do|getline|function|func)\b")
_FOR = re.compile(r"\bfor\s*\(")
_COUNTS = re.compile(
    r"\bfor\s*\(\s*(?:\w+\s+in\s+\w+|(\w+)\s*=[^;()]*;\s*\1\s*[<>]=?[^;()=]*(?:\([^()]*\))?[^;()=]*;"
    r"\s*(?:\1\s*(?:\+\+|--)|(?:\+\+|--)\s*\1|\1\s*[+-]=\s*[1-9]\d*))\s*\)"
)


def surely_ends(program: str) -> bool:
    """Whether an awk program ends on every finite input, as far as its text shows.

    Loops over an array and loops that count with a variable nothing else changes end.
    """
    bare = _COMMENT.sub("", TEXT.sub('""', program))
    if _LOOPS.search(bare):
        return False
    counting = list(_COUNTS.finditer(bare))
    if len(counting) != len(_FOR.findall(bare)):
        return False
    rest = _COUNTS.sub("for()", bare)
    return not any(_changes(found[1], rest) for found in counting if found[1])


def _changes(variable: str, program: str) -> bool:
    name = re.escape(variable)
    return bool(
        re.search(
            rf"\b{name}\s*(?:[-+*/%^]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*{name}\b|\b(?:sub|gsub)\s*\([^)]*\b{name}\b",
            program,
        )
    )
