"""Whether what a reading tool shows is what a file holds."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence

from agentworld_sim.regex import lazy_compile

_NUMBERED = lazy_compile(r"[ \t]{0,12}L?(\d{1,9})(?!\d)")
_SEPARATORS = " \t→|│:.)"
"""What may stand between the number of a line and the line, three of them at most."""
_OPENED = lazy_compile(
    r"(?:^|[\"'`(\[{>|│:→]|^[ \t]{0,12}L?\d{1,9}[ \t→|│:.)]{1,3})[ \t]*(?:\\r|\\n)*$"
)
_CLOSED = lazy_compile(r"(?:(?:\\r|\\n)+(?=[\"']))?[ \t]*(?:$|[\"'`)\]}<|│])")
"""What may stand in a line before and after a whole content: a bracket, a quote, a label, a number."""
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
"""At either end of an answer."""
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
        if _OPENED.search(before) and _CLOSED.match(after):
            return True
        at = seen.find(form, at + 1)
    return False


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
        if number > len(held) and not rest.strip(_SEPARATORS):
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
        if found is None or (run and int(found[1]) != run[-1][0] + 1):
            run = []
        if found is not None:
            run.append((int(found[1]), row[found.end() :]))
        if len(run) > len(best):
            best = run
    return best


def _is_line(rest: str, line: str) -> bool:
    held = line if line.strip() else ""
    between = rest[: len(rest) - len(held)] if held else rest.strip()
    if rest.endswith(held) and len(between) <= 3 and not between.strip(_SEPARATORS):
        return True
    cut = _CUT.search(rest[-_ENVELOPE_CHARS:])
    if cut is None and not rest.endswith(("…", "...")):
        return False
    end = len(rest) - min(len(rest), _ENVELOPE_CHARS) + cut.start() if cut else len(rest)
    return line.strip().startswith(rest[:end].rstrip("….[( ").lstrip(_SEPARATORS))


def _is_part(rows: Sequence[str], held: Sequence[str]) -> bool:
    """Whether every stretch between marks of a cut stands in the file, some envelope aside."""
    whole, lines = "\n".join(["", *held, ""]), set(held)
    stretches: list[list[str]] = [[]]
    for number, row in enumerate(rows):
        near_end = number < _ENVELOPE_LINES or len(rows) - number <= _ENVELOPE_LINES
        if row in lines:
            stretches[-1].append(row)
        elif _CUT.search(row[-_ENVELOPE_CHARS:]) or (near_end and _is_envelope(row)):
            stretches.append([])
        else:
            stretches[-1].append(row)
    found = [one for one in stretches if any(map(str.strip, one))]
    return len(found) > _MOST_STRETCHES or all("\n".join(["", *one, ""]) in whole for one in found)


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
