"""The patch of two texts, line for line as the npm package `diff` writes it.

It finds the shortest way from one text to the other (Myers 1986) and, of several, the one that removes
first. Held against version 8 of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

CONTEXT = 4
"""Lines shown around a change."""

MAX_EDITS = 700
"""Beyond so many lines removed and added, the middle is shown as replaced as a whole."""


@dataclass(slots=True)
class _Run:
    """Neighbouring lines that are kept (` `), removed (`-`) or added (`+`)."""

    sign: str
    lines: list[str]


@dataclass(slots=True)
class _Hunk:
    old_start: int
    new_start: int
    lines: list[str] = field(default_factory=list[str])


def two_files_patch(path: str, before: str, after: str) -> str:
    """The patch that makes `after` of `before`, both called `path`. Lines end in `\\n` only."""
    parts = [f"Index: {path}", "=" * 67, f"--- {path}\toriginal", f"+++ {path}\tmodified"]
    for hunk in _hunks(_runs(_lines(before), _lines(after))):
        removed = sum(line[0] != "+" for line in hunk.lines)
        added = sum(line[0] != "-" for line in hunk.lines)
        # A side without lines is counted from the line before it.
        old, new = hunk.old_start - (not removed), hunk.new_start - (not added)
        parts.append(f"@@ -{old},{removed} +{new},{added} @@")
        for line in hunk.lines:
            parts.append(line.removesuffix("\n"))
            if not line.endswith("\n"):
                parts.append("\\ No newline at end of file")
    return "\n".join(parts) + "\n"


def _lines(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(runs: Sequence[_Run]) -> list[_Hunk]:
    hunks: list[_Hunk] = []
    current: _Hunk | None = None
    old_line = new_line = 1
    for number, run in enumerate(runs):
        count = len(run.lines)
        if run.sign == " ":
            if current is not None:
                if count <= CONTEXT * 2 and number < len(runs) - 1:
                    current.lines += [f" {line}" for line in run.lines]
                else:
                    current.lines += [f" {line}" for line in run.lines[:CONTEXT]]
                    current = None
            old_line, new_line = old_line + count, new_line + count
            continue
        if current is None:
            above = runs[number - 1].lines[-CONTEXT:] if number else []
            shown = [f" {line}" for line in above]
            current = _Hunk(old_line - len(above), new_line - len(above), shown)
            hunks.append(current)
        current.lines += [f"{run.sign}{line}" for line in run.lines]
        if run.sign == "-":
            old_line += count
        else:
            new_line += count
    return hunks


def _runs(old: Sequence[str], new: Sequence[str]) -> list[_Run]:
    runs: list[_Run] = []

    def append(sign: str, lines: Sequence[str]) -> None:
        if runs and runs[-1].sign == sign:
            runs[-1].lines += lines
        elif lines:
            runs.append(_Run(sign, list(lines)))

    i = j = 0
    for sign, count in _script(old, new):
        if sign == "+":
            append(sign, new[j : j + count])
        else:
            append(sign, old[i : i + count])
        i += count * (sign != "+")
        j += count * (sign != "-")
    return runs


_Way = tuple[str, int, "_Way | None"]
"""A step (sign, number of lines) and the way to it."""


def _script(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int]]:
    """How `new` is made of `old`: steps in order."""

    def kept(i: int, j: int, way: _Way | None) -> tuple[int, _Way | None]:
        start = i
        while i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
        return i, (" ", i - start, way) if i > start else way

    # By diagonal: how many old lines are used up, and the way there.
    best: dict[int, tuple[int, _Way | None]] = {0: kept(0, 0, None)}
    if best[0][0] == len(old) == len(new):
        return _steps(best[0][1])
    lowest, highest = -len(new), len(old)
    for edits in range(1, MAX_EDITS + 1):
        low = max(lowest, -edits)
        for diagonal in range(low + ((low + edits) % 2), min(highest, edits) + 1, 2):
            removing, adding = best.pop(diagonal - 1, None), best.get(diagonal + 1)
            can_remove = removing is not None and removing[0] < len(old)
            can_add = adding is not None and 0 <= adding[0] - diagonal - 1 < len(new)
            if can_add and adding and not (can_remove and removing and removing[0] >= adding[0]):
                reached = kept(adding[0], adding[0] - diagonal, ("+", 1, adding[1]))
            elif can_remove and removing:
                used = removing[0] + 1
                reached = kept(used, used - diagonal, ("-", 1, removing[1]))
            else:
                best.pop(diagonal, None)
                continue
            i, j = reached[0], reached[0] - diagonal
            if i >= len(old) and j >= len(new):
                return _steps(reached[1])
            best[diagonal] = reached
            if i >= len(old):
                highest = min(highest, diagonal - 1)
            if j >= len(new):
                lowest = max(lowest, diagonal + 1)
    return _replaced(old, new)


def _steps(way: _Way | None) -> list[tuple[str, int]]:
    steps: list[tuple[str, int]] = []
    while way is not None:
        sign, count, way = way
        steps.append((sign, count))
    return steps[::-1]


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int]]:
    """Everything between what both begin and end with."""
    shorter = min(len(old), len(new))
    head = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    rest = shorter - head
    tail = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    return [(" ", head), ("-", len(old) - head - tail), ("+", len(new) - head - tail), (" ", tail)]
