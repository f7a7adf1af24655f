"""Whether what a reading tool shows is what a file holds."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence

from agentworld_sim.regex import lazy_compile

_NUMBERED = lazy_compile(r"[ \t]{0,12}L?(\d{1,9})(?!\d)")
_SEPARATORS = ("\t", "→", "|", "| ", " | ", ": ", ":", " ", "  ", ". ", ") ", "│", " │ ", "│ ")
_SEPARATOR_CHARS = " \t→|│:.)"
_OPENING = {
    '"': '"',
    "'": "'",
    "`": "`",
    "(": ")",
    "[": "]",
    "{": "}",
    ">": "<",
    "|": "|",
    "│": "│",
}
"""What may stand around a content, and how it ends."""
_BREAKS_BEFORE = lazy_compile(r"(?:\\r|\\n)+\Z")
_BREAKS_AFTER = lazy_compile(r"\A(?:\\r|\\n)+(?=[\"'])")
"""Escaped line breaks around a content that is a string in JSON."""
_CUT = lazy_compile(
    r"truncat|omitted|\.\.\. ?[\[(]|\[\.\.\.|not shown|^\s*(?:\.\.\.|…)\s*$"
    r"|\blines? \d+ ?(?:-|to) ?\d+ of \d+"
    r"|\b\d+ (?:more )?(?:lines|characters|bytes) (?:more|left|remain|not)|\bmore lines\b|<snip",
    re.IGNORECASE,
)
_ENVELOPE = lazy_compile(
    r"\s*$|\s*(?:```|---|===|@@|[<\[({*#>])|.*:\s*$|.*\b(?:lines?|file|showing|shown|total|status|contents?"
    r"|note|reminder|offset|truncated|important|action|eof|warning)\b",
    re.IGNORECASE,
)
_ENVELOPE_LINES = 8
_ENVELOPE_CHARS = 300
_MOST_STRETCHES = 12
_PAGE_LINES = 50
"""A tool may end a page after so many lines without saying so."""


def lines_of(text: str) -> list[str]:
    """The lines, whatever ends them, without blank ones at the end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n").split("\n")


def disagreement(shown: str, content: str, *, part: bool) -> str | None:
    """How `shown` differs from a file's content; `None` when it agrees or nothing can be said.

    Args:
        shown: What the tool returned: raw, numbered, in an envelope, or escaped in JSON or HTML.
        content: What the file holds.
        part: The call asked for some lines only.
    """
    held = lines_of(content)
    body = "\n".join(held).strip("\n")
    if not body.strip():
        full = sum(not _is_envelope(line) for line in lines_of(shown)) > 3
        return "it is empty, and the answer shows content" if full else None
    seen = "\n".join(lines_of(shown))
    if any(_stands_in(form, seen) for form in _forms(body, seen)):
        return None
    rows = seen.split("\n")
    numbered = _line_number_problem(rows, held, part=part)
    if numbered == "":
        return None
    partly = part or len(rows) >= _PAGE_LINES or _is_cut(rows, held)
    if partly and (_is_part(rows, held) or _is_escaped(seen)):
        return None
    return numbered or _difference(rows, held)


def _forms(body: str, seen: str) -> Iterator[str]:
    """The ways in which a whole content may stand in an answer."""
    yield body
    if "\\" in seen:
        yield json.dumps(body)[1:-1]
        yield json.dumps(body, ensure_ascii=False)[1:-1]
    if '"' in seen and "\n" not in body:
        yield json.dumps(body, ensure_ascii=False)[1:-1]
    if "&" in seen:
        yield html.escape(body)
        yield html.escape(body, quote=False)


def _stands_in(form: str, seen: str) -> bool:
    """Whether a content stands in an answer as whole lines, but for what is put around it."""
    at = seen.find(form)
    while at >= 0:
        end = at + len(form)
        before = seen[max(at - _ENVELOPE_CHARS, 0) : at].rpartition("\n")[2]
        after = seen[end : end + _ENVELOPE_CHARS].partition("\n")[0]
        if _encloses(_BREAKS_BEFORE.sub("", before), _BREAKS_AFTER.sub("", after)):
            return True
        at = seen.find(form, at + 1)
    return False


def _encloses(before: str, after: str) -> bool:
    """Whether what a line has before and after a content is no part of that: `<text>…</text>`."""
    label, mark = before.rstrip(" \t"), before.rstrip(" \t")[-1:]
    number = _NUMBERED.match(before)
    opened = not label or mark in _OPENING or mark in ":→"
    if number is not None:
        opened = opened or before[number.end() :] in _SEPARATORS
    closed = after.strip(" \t")[:1]
    return opened and (closed in ("", "<") or _OPENING.get(mark) == closed)


def _is_escaped(seen: str) -> bool:
    """Whether it is JSON, of which a part cannot be compared."""
    return seen.lstrip()[:1] in ("{", "[") and "\\n" in seen


def _is_cut(rows: Sequence[str], held: Sequence[str]) -> bool:
    """Whether the answer says that it is not all."""
    marked = [row for row in rows if _CUT.search(row[-_ENVELOPE_CHARS:])]
    return bool(marked) and not set(marked) <= set(held)


def _line_number_problem(rows: Sequence[str], held: Sequence[str], *, part: bool) -> str | None:
    """What is wrong with numbered lines; empty when nothing, `None` when they are not numbered."""
    run = _longest_run(rows)
    if not run or len(run) * 10 < 6 * sum(bool(row.strip()) for row in rows):
        return None
    for number, rest in run:
        if number > len(held) and not rest.strip(_SEPARATOR_CHARS):
            continue
        if not 1 <= number <= len(held):
            return f"it has {len(held):,} lines, and the answer shows line {number:,}"
        if not _is_line(rest, held[number - 1]):
            return f"line {number:,} is {_quote(held[number - 1])}"
    missing = run[0][0] > 1 or run[-1][0] < len(held)
    if missing and not part and len(run) < _PAGE_LINES and not _is_cut(rows, held):
        return f"it has {len(held):,} lines, and the answer shows {run[0][0]:,} to {run[-1][0]:,}"
    return ""


def _longest_run(rows: Sequence[str]) -> list[tuple[int, str]]:
    """The longest stretch of rows with consecutive numbers, and what follows each number."""
    best: list[tuple[int, str]] = []
    run: list[tuple[int, str]] = []
    for row in rows:
        found = _NUMBERED.match(row)
        if found is None:
            run = []
            continue
        number, rest = int(found[1]), row[found.end() :]
        if run and number == run[-1][0] + 1:
            run.append((number, rest))
        else:
            run = [(number, rest)]
        if len(run) > len(best):
            best = run
    return best


def _is_line(rest: str, line: str) -> bool:
    if rest.endswith(line) and rest[: len(rest) - len(line)] in _SEPARATORS:
        return True
    if not rest.strip(_SEPARATOR_CHARS) and not line.strip():
        return True
    cut = _CUT.search(rest[-_ENVELOPE_CHARS:])
    if cut is None and not rest.endswith(("…", "...")):
        return False
    end = len(rest) - min(len(rest), _ENVELOPE_CHARS) + cut.start() if cut else len(rest)
    stem = rest[:end].rstrip("….[( ")
    return any(
        stem.startswith(separator) and line.startswith(stem[len(separator) :])
        for separator in _SEPARATORS
    )


def _is_part(rows: Sequence[str], held: Sequence[str]) -> bool:
    """Whether every stretch between marks of a cut stands in the file, some envelope aside."""
    whole = "\n".join(["", *held, ""])
    stretches = list(_stretches(rows, set(held)))
    return len(stretches) > _MOST_STRETCHES or all(
        _without_envelope(stretch, whole) for stretch in stretches
    )


def _stretches(rows: Sequence[str], held: set[str]) -> Iterator[list[str]]:
    stretch: list[str] = []
    for row in rows:
        if row not in held and _CUT.search(row[-_ENVELOPE_CHARS:]):
            yield stretch
            stretch = []
        else:
            stretch.append(row)
    yield stretch


def _without_envelope(stretch: list[str], whole: str) -> bool:
    most = min(_ENVELOPE_LINES, len(stretch))
    for before in range(most + 1):
        if before and not _is_envelope(stretch[before - 1]):
            break
        for after in range(most + 1 - before):
            if after and not _is_envelope(stretch[-after]):
                break
            inner = stretch[before : len(stretch) - after]
            if not inner or "\n".join(["", *inner, ""]) in whole:
                return True
    return False


def _is_envelope(row: str) -> bool:
    return len(row) <= _ENVELOPE_CHARS and _ENVELOPE.match(row) is not None


def _difference(rows: Sequence[str], held: Sequence[str]) -> str:
    seen = {row.strip() for row in rows}
    for number, line in enumerate(held, 1):
        if line.strip() and line.strip() not in seen:
            return f"line {number:,} is {_quote(line)}"
    return "the answer shows its lines in another order, or others between them"


def _quote(line: str) -> str:
    return repr(line if len(line) <= 100 else line[:99] + "…")
