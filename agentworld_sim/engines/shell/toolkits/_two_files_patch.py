"""The patch of two texts, line for line as the npm package `diff` writes it.

Held against version 8 of the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentworld_sim.engines.shell.line_differences import edit_script

CONTEXT = 4
"""Lines shown around a change."""


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
    for sign, count in edit_script(old, new):
        if sign == "+":
            append(sign, new[j : j + count])
        else:
            append(sign, old[i : i + count])
        i += count * (sign != "+")
        j += count * (sign != "-")
    return runs
