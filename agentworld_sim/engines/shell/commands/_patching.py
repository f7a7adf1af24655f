"""Reading patches and applying their hunks, as GNU patch does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(slots=True)
class Hunk:
    """One change with its surroundings. Lines keep their newline, where they have one."""

    old_start: int
    new_start: int
    lines: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """A mark (` `, `-` or `+`) and a line."""

    def side(self, mark: str) -> list[str]:
        return [line for kind, line in self.lines if kind in (" ", mark)]

    def reversed(self) -> Hunk:
        swap = {" ": " ", "-": "+", "+": "-"}
        return Hunk(self.new_start, self.old_start, [(swap[k], line) for k, line in self.lines])

    def text(self) -> str:
        """As it stands in a file of rejects."""
        old, new = len(self.side("-")), len(self.side("+"))
        head = f"@@ -{_range(self.old_start, old)} +{_range(self.new_start, new)} @@\n"
        return head + "".join(
            mark + (line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
            for mark, line in self.lines
        )


def _range(start: int, length: int) -> str:
    return str(start) if length == 1 else f"{start},{length}"


@dataclass(slots=True)
class FilePatch:
    """All hunks for one file."""

    old: str
    new: str
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    old_header: str = ""
    new_header: str = ""


def read_patch(text: str) -> list[FilePatch]:
    """The unified differences in `text`, whatever stands between them."""
    lines = text.splitlines(keepends=True)
    patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            old, new = line[4:].rstrip("\n"), lines[at + 1][4:].rstrip("\n")
            patches.append(FilePatch(_name(old), _name(new), [], old, new))
            at += 2
            continue
        found = _HUNK.match(line)
        if found and patches:
            at = _read_hunk(lines, at + 1, found, patches[-1])
            continue
        at += 1
    return [patch for patch in patches if patch.hunks]


def _name(header: str) -> str:
    return header.split("\t")[0].rstrip(" ")


def _read_hunk(lines: Sequence[str], at: int, found: re.Match[str], patch: FilePatch) -> int:
    old_left = int(found[2]) if found[2] is not None else 1
    new_left = int(found[4]) if found[4] is not None else 1
    hunk = Hunk(int(found[1]), int(found[3]))
    while at < len(lines) and (old_left > 0 or new_left > 0):
        mark, line = lines[at][:1], lines[at][1:]
        if mark == "\n":
            mark, line = " ", "\n"
        if mark not in (" ", "-", "+", "\\"):
            break
        if mark == "\\":
            _cut_newline(hunk)
        else:
            hunk.lines.append((mark, line))
            old_left -= mark != "+"
            new_left -= mark != "-"
        at += 1
    if at < len(lines) and lines[at].startswith("\\"):
        _cut_newline(hunk)
        at += 1
    patch.hunks.append(hunk)
    return at


def _cut_newline(hunk: Hunk) -> None:
    mark, line = hunk.lines[-1]
    hunk.lines[-1] = (mark, line.removesuffix("\n"))


def place_of(lines: Sequence[str], hunk: Hunk, offset: int, least: int, fuzz: int) -> int | None:
    """Where the hunk's old side stands, nearest to where it should; `None` if nowhere.

    Args:
        lines: The file.
        hunk: The hunk.
        offset: How far the last hunk was from its place.
        least: The first line that may still change.
        fuzz: How many lines of context may differ at both ends.
    """
    wanted = hunk.side("-")
    before = next((i for i, (mark, _) in enumerate(hunk.lines) if mark != " "), 0)
    after = next((i for i, (mark, _) in enumerate(reversed(hunk.lines)) if mark != " "), 0)
    front, back = min(fuzz, before), min(fuzz, after)
    core = wanted[front : len(wanted) - back]
    start = max(0, hunk.old_start - 1) if wanted else hunk.old_start
    for place in _outwards(start + front + offset, len(lines)):
        if place - front >= least and list(lines[place : place + len(core)]) == core:
            return place - front
    return None


def _outwards(middle: int, end: int) -> Iterator[int]:
    yield middle
    for distance in range(1, end + abs(middle) + 2):
        yield middle + distance
        if middle - distance >= 0:
            yield middle - distance
