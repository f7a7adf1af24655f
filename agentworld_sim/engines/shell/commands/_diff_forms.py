"""How `diff` writes differences: normal, unified, context, ed, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentworld_sim.engines.shell.commands._difference import Change

_NO_NEWLINE = "\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Sides:
    """The lines of both files, each with its newline where it has one."""

    old: Sequence[str]
    new: Sequence[str]
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class Colors:
    """What is put around coloured parts; nothing by default."""

    header: str = ""
    place: str = ""
    old: str = ""
    new: str = ""

    def wrap(self, color: str, text: str) -> str:
        if not color:
            return text
        body = text.removesuffix("\n")
        return f"{color}{body}\x1b[0m{text[len(body) :]}"


ALWAYS = Colors("\x1b[1m", "\x1b[36m", "\x1b[31m", "\x1b[32m")


def _line(mark: str, line: str, colors: Colors, color: str) -> str:
    if line.endswith("\n"):
        return colors.wrap(color, mark + line)
    return colors.wrap(color, mark + line) + "\n" + _NO_NEWLINE


def _range(start: int, end: int) -> str:
    if end - start > 1:
        return f"{start + 1},{end}"
    return str(end)


def normal(sides: Sides, colors: Colors, tab: str = " ") -> Iterator[str]:
    for c in sides.changes:
        letter = (
            "c"
            if c.old_end > c.old_start and c.new_end > c.new_start
            else ("d" if c.old_end > c.old_start else "a")
        )
        place = f"{_range(c.old_start, c.old_end)}{letter}{_range(c.new_start, c.new_end)}\n"
        yield colors.wrap(colors.place, place)
        for line in sides.old[c.old_start : c.old_end]:
            yield _line("<" + tab, line, colors, colors.old)
        if letter == "c":
            yield "---\n"
        for line in sides.new[c.new_start : c.new_end]:
            yield _line(">" + tab, line, colors, colors.new)


def _hunks(sides: Sides, context: int) -> Iterator[list[Change]]:
    hunk: list[Change] = []
    for change in sides.changes:
        if hunk and change.old_start - hunk[-1].old_end > 2 * context:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _around(sides: Sides, hunk: Sequence[Change], context: int) -> tuple[int, int, int, int]:
    before = min(context, hunk[0].old_start)
    after = min(context, len(sides.old) - hunk[-1].old_end)
    return (
        hunk[0].old_start - before,
        hunk[-1].old_end + after,
        hunk[0].new_start - before,
        hunk[-1].new_end + after,
    )


def _unified_range(start: int, end: int) -> str:
    length = end - start
    return str(start + 1) if length == 1 else f"{start + 1 if length else start},{length}"


def _function(sides: Sides, start: int, wanted: bool) -> str:
    if not wanted:
        return ""
    for line in reversed(sides.old[:start]):
        if line[:1].isalpha() or line[:1] in "_$":
            return " " + line.rstrip("\n")[:40].rstrip()
    return ""


def unified(sides: Sides, context: int, colors: Colors, *, function: bool) -> Iterator[str]:
    for hunk in _hunks(sides, context):
        a0, a1, b0, b1 = _around(sides, hunk, context)
        place = f"@@ -{_unified_range(a0, a1)} +{_unified_range(b0, b1)} @@"
        yield colors.wrap(colors.place, place) + _function(sides, a0, function) + "\n"
        at = a0
        for c in hunk:
            for line in sides.old[at : c.old_start]:
                yield _line(" ", line, colors, "")
            for line in sides.old[c.old_start : c.old_end]:
                yield _line("-", line, colors, colors.old)
            for line in sides.new[c.new_start : c.new_end]:
                yield _line("+", line, colors, colors.new)
            at = c.old_end
        for line in sides.old[at:a1]:
            yield _line(" ", line, colors, "")


def _context_range(start: int, end: int) -> str:
    return f"{start + 1},{end}" if end - start > 1 else str(end)


def context(sides: Sides, lines: int, colors: Colors, *, function: bool) -> Iterator[str]:
    for hunk in _hunks(sides, lines):
        a0, a1, b0, b1 = _around(sides, hunk, lines)
        yield "***************" + _function(sides, a0, function) + "\n"
        yield colors.wrap(colors.place, f"*** {_context_range(a0, a1)} ****\n")
        if any(c.old_end > c.old_start for c in hunk):
            spans = [
                (c.old_start, c.old_end, "- " if c.new_end == c.new_start else "! ") for c in hunk
            ]
            yield from _marked(sides.old, a0, a1, spans, colors, colors.old)
        yield colors.wrap(colors.place, f"--- {_context_range(b0, b1)} ----\n")
        if any(c.new_end > c.new_start for c in hunk):
            spans = [
                (c.new_start, c.new_end, "+ " if c.old_end == c.old_start else "! ") for c in hunk
            ]
            yield from _marked(sides.new, b0, b1, spans, colors, colors.new)


def _marked(
    lines: Sequence[str],
    start: int,
    end: int,
    spans: Sequence[tuple[int, int, str]],
    colors: Colors,
    color: str,
) -> Iterator[str]:
    at = start
    for first, last, mark in spans:
        for line in lines[at:first]:
            yield _line("  ", line, colors, "")
        for line in lines[first:last]:
            yield _line(mark, line, colors, color)
        at = last
    for line in lines[at:end]:
        yield _line("  ", line, colors, "")


def ed(sides: Sides) -> Iterator[str]:
    for c in reversed(sides.changes):
        letter = (
            "c"
            if c.old_end > c.old_start and c.new_end > c.new_start
            else ("d" if c.old_end > c.old_start else "a")
        )
        yield f"{_range(c.old_start, c.old_end)}{letter}\n"
        if letter != "d":
            for line in sides.new[c.new_start : c.new_end]:
                yield line if line.endswith("\n") else line + "\n"
            yield ".\n"


def rcs(sides: Sides) -> Iterator[str]:
    for c in sides.changes:
        if c.old_end > c.old_start:
            yield f"d{c.old_start + 1} {c.old_end - c.old_start}\n"
        if c.new_end > c.new_start:
            yield f"a{c.old_end} {c.new_end - c.new_start}\n"
            yield from sides.new[c.new_start : c.new_end]


def side_by_side(
    sides: Sides, width: int, *, expand: bool, common: bool, left_column: bool
) -> Iterator[str]:
    """Two columns. Source: GNU diffutils' side.c and `main` for the widths."""
    tab = 1 if expand else 8
    # The right half starts at a tab stop.
    offset = (width + tab + 3) // 2 // tab * tab
    half = max(0, min(offset - 3, width - offset))
    second = offset if half else width
    printer = _Side(half, second, tab, expand)
    at_old = at_new = 0
    for c in sides.changes:
        if common:
            for a, b in zip(
                sides.old[at_old : c.old_start], sides.new[at_new : c.new_start], strict=False
            ):
                yield printer.line(a, "(" if left_column else " ", "" if left_column else b)
        old, new = sides.old[c.old_start : c.old_end], sides.new[c.new_start : c.new_end]
        for index in range(max(len(old), len(new))):
            a = old[index] if index < len(old) else None
            b = new[index] if index < len(new) else None
            yield printer.line(
                a, "|" if a is not None and b is not None else "<" if b is None else ">", b
            )
        at_old, at_new = c.old_end, c.new_end
    if common:
        for a, b in zip(sides.old[at_old:], sides.new[at_new:], strict=False):
            yield printer.line(a, "(" if left_column else " ", "" if left_column else b)


class _Side:
    def __init__(self, half: int, second: int, tab: int, expand: bool) -> None:
        self.half, self.second, self.tab, self.expand = half, second, tab, expand

    def line(self, left: str | None, mark: str, right: str | None) -> str:
        newline = False
        text, column = "", 0
        if left is not None:
            newline |= left.endswith("\n")
            text, column = self._half(left.removesuffix("\n"), 0, self.half)
        if mark != " ":
            goal = (self.half + self.second - 1) // 2
            text += self._tabs(column, goal) + ("|" if mark == "|" and right is not None else mark)
            column = goal + 1
            if mark == "|" and left is not None and right is not None:
                whole = left.endswith("\n"), right.endswith("\n")
                text = text[:-1] + ("|" if whole[0] == whole[1] else "/" if whole[1] else "\\")
        if right:
            newline |= right.endswith("\n")
            body = right.removesuffix("\n")
            if body:
                text += self._tabs(column, self.second)
                text += self._half(body, 0, self.half)[0]
        return text + ("\n" if newline else "")

    def _half(self, body: str, start: int, limit: int) -> tuple[str, int]:
        text, column = "", start
        for char in body:
            if char == "\t":
                step = 8 - column % 8
                if column + step > limit:
                    step = max(0, limit - column)
                    text += " " * step if self.expand else ""
                else:
                    text += " " * step if self.expand else "\t"
                column += step
                continue
            if column >= limit:
                break
            text += char
            column += 1
        return text, column

    def _tabs(self, position: int, goal: int) -> str:
        text = ""
        if not self.expand:
            while position // 8 < goal // 8:
                text += "\t"
                position += 8 - position % 8
        return text + " " * (goal - position)
