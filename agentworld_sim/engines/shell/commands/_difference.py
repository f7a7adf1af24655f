"""The difference of two sequences of lines, with the choices that GNU diff makes.

Source: Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), and the shifting of changes
to their latest place of GNU diffutils' analyze.c (`shift_boundaries`). Left out: its heuristics for
very large inputs, which may give other, equally valid differences.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `old[old_start:old_end]` give way to `new[new_start:new_end]`."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changes(old: Sequence[Hashable], new: Sequence[Hashable], *, horizon: int = 0) -> list[Change]:
    """What turns `old` into `new`, in order.

    Args:
        old: Lines, or what stands for them where some differences do not count.
        new: The same of the other side.
        horizon: How many lines of a common beginning or end a change may be shifted into.
    """
    start = 0
    end_old, end_new = len(old), len(new)
    while start < end_old and start < end_new and old[start] == new[start]:
        start += 1
    while end_old > start and end_new > start and old[end_old - 1] == new[end_new - 1]:
        end_old -= 1
        end_new -= 1
    start = max(0, start - horizon)
    a = old[start : min(len(old), end_old + horizon)]
    b = new[start : min(len(new), end_new + horizon)]
    gone, come = [False] * len(a), [False] * len(b)
    _mark(a, b, gone, come)
    _shift(a, gone, come)
    _shift(b, come, gone)
    return [
        Change(c.old_start + start, c.old_end + start, c.new_start + start, c.new_end + start)
        for c in _script(gone, come)
    ]


def _mark(
    old: Sequence[Hashable], new: Sequence[Hashable], gone: list[bool], come: list[bool]
) -> None:
    """Marks the lines that are only in one of the two."""
    low = 0
    high_old, high_new = len(old), len(new)
    while low < high_old and low < high_new and old[low] == new[low]:
        low += 1
    while high_old > low and high_new > low and old[high_old - 1] == new[high_new - 1]:
        high_old -= 1
        high_new -= 1
    # Lines that the other side does not have at all cannot be kept: fewer lines to compare.
    there_new, there_old = set(new[low:high_new]), set(old[low:high_old])
    left = [i for i in range(low, high_old) if old[i] in there_new]
    right = [i for i in range(low, high_new) if new[i] in there_old]
    for i in set(range(low, high_old)) - set(left):
        gone[i] = True
    for i in set(range(low, high_new)) - set(right):
        come[i] = True
    _compare([old[i] for i in left], [new[i] for i in right], left, right, gone, come)


def _compare(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    at_a: Sequence[int],
    at_b: Sequence[int],
    gone: list[bool],
    come: list[bool],
) -> None:
    waiting = [(0, len(a), 0, len(b))]
    while waiting:
        x0, x1, y0, y1 = waiting.pop()
        while x0 < x1 and y0 < y1 and a[x0] == b[y0]:
            x0 += 1
            y0 += 1
        while x0 < x1 and y0 < y1 and a[x1 - 1] == b[y1 - 1]:
            x1 -= 1
            y1 -= 1
        if x0 == x1:
            for y in range(y0, y1):
                come[at_b[y]] = True
        elif y0 == y1:
            for x in range(x0, x1):
                gone[at_a[x]] = True
        else:
            x, y = _middle(a, b, x0, x1, y0, y1)
            waiting += [(x, x1, y, y1), (x0, x, y0, y)]


def _middle(
    a: Sequence[Hashable], b: Sequence[Hashable], x0: int, x1: int, y0: int, y1: int
) -> tuple[int, int]:
    """A point on a shortest path, found from both ends (GNU's `diag`)."""
    low, high = x0 - y1, x1 - y0
    mid_f, mid_b = x0 - y0, x1 - y1
    forward, backward = {mid_f: x0}, {mid_b: x1}
    f_low = f_high = mid_f
    b_low = b_high = mid_b
    odd = bool((mid_f - mid_b) & 1)
    while True:
        f_low, f_high = _widen(forward, f_low, f_high, low, high, -1)
        for d in range(f_high, f_low - 1, -2):
            lower, upper = forward[d - 1], forward[d + 1]
            x = upper if lower < upper else lower + 1
            y = x - d
            while x < x1 and y < y1 and a[x] == b[y]:
                x += 1
                y += 1
            forward[d] = x
            if odd and b_low <= d <= b_high and backward[d] <= x:
                return x, y
        b_low, b_high = _widen(backward, b_low, b_high, low, high, 1 << 60)
        for d in range(b_high, b_low - 1, -2):
            lower, upper = backward[d - 1], backward[d + 1]
            x = lower if lower < upper else upper - 1
            y = x - d
            while x0 < x and y0 < y and a[x - 1] == b[y - 1]:
                x -= 1
                y -= 1
            backward[d] = x
            if not odd and f_low <= d <= f_high and x <= forward[d]:
                return x, y


def _widen(
    reached: dict[int, int], low: int, high: int, least: int, most: int, edge: int
) -> tuple[int, int]:
    if low > least:
        low -= 1
        reached[low - 1] = edge
    else:
        low += 1
    if high < most:
        high += 1
        reached[high + 1] = edge
    else:
        high -= 1
    return low, high


def _shift(lines: Sequence[Hashable], marks: list[bool], other: Sequence[bool]) -> None:
    """Moves runs of changes: together where they touch, next to the other side's, else down."""
    i = j = 0
    end = len(lines)
    while True:
        while i < end and not marks[i]:
            while j < len(other) and other[j]:
                j += 1
            i += 1
            j += 1
        if i == end:
            return
        start = i
        while i < end and marks[i]:
            i += 1
        while j < len(other) and other[j]:
            j += 1
        i, j = _settle(lines, marks, other, start, i, j)


def _settle(
    lines: Sequence[Hashable], marks: list[bool], other: Sequence[bool], start: int, i: int, j: int
) -> tuple[int, int]:
    end = len(lines)

    def changed(index: int) -> bool:
        return 0 <= index < len(other) and other[index]

    while True:
        length = i - start
        while start and lines[start - 1] == lines[i - 1]:
            start -= 1
            marks[start] = True
            i -= 1
            marks[i] = False
            while start and marks[start - 1]:
                start -= 1
            j -= 1
            while changed(j):
                j -= 1
        corresponding = i if changed(j - 1) else end
        while i != end and lines[start] == lines[i]:
            marks[start] = False
            start += 1
            marks[i] = True
            i += 1
            while i != end and marks[i]:
                i += 1
            j += 1
            while changed(j):
                corresponding = i
                j += 1
        if length == i - start:
            break
    while corresponding < i:
        start -= 1
        marks[start] = True
        i -= 1
        marks[i] = False
        j -= 1
        while changed(j):
            j -= 1
    return i, j


def _script(gone: Sequence[bool], come: Sequence[bool]) -> list[Change]:
    found: list[Change] = []
    i = j = 0
    while i < len(gone) or j < len(come):
        if (i < len(gone) and gone[i]) or (j < len(come) and come[j]):
            start_i, start_j = i, j
            while i < len(gone) and gone[i]:
                i += 1
            while j < len(come) and come[j]:
                j += 1
            found.append(Change(start_i, i, start_j, j))
        else:
            i += 1
            j += 1
    return found
