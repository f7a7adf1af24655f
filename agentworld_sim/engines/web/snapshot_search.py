"""What `browser_find` shows of a snapshot: the lines that match, where they stand."""

from __future__ import annotations

from collections.abc import Sequence

_LINES_AROUND = 3


def snippets(lines: Sequence[str], found: Sequence[int]) -> list[str]:
    """The lines that match, with those around them and those that they lie in."""
    windows: list[list[int]] = []
    for at in found:
        first, last = max(0, at - _LINES_AROUND), min(len(lines) - 1, at + _LINES_AROUND)
        if windows and first <= windows[-1][-1] + 1:
            windows[-1] += range(windows[-1][-1] + 1, last + 1)
        else:
            windows.append(list(range(first, last + 1)))
    ways = {place for at in found for place in (at, *_above(lines, at))}
    snippets: list[str] = []
    for window in windows:
        shown: list[str] = []
        before = -1
        for place in (*_above(lines, window[0]), *window):
            gap = shown and place > before + 1 and not {place, before} & ways
            shown += [f"{' ' * _indent(lines[place])}..."] if gap else []
            shown.append(lines[place])
            before = place
        snippets.append("\n".join(shown))
    return snippets


def _above(lines: Sequence[str], at: int) -> list[int]:
    found: list[int] = []
    indent = _indent(lines[at])
    for place in range(at - 1, -1, -1):
        if _indent(lines[place]) < indent:
            found.append(place)
            indent = _indent(lines[place])
    return found[::-1]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
