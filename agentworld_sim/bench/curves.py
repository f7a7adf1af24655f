"""What confidence is worth: how often answers of a confidence are right, and what a threshold buys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentworld_sim.bench.run import Row

GROUPS, LEAST = 10, 10
"""Groups of answers in the reliability curve, and answers in each, at the least."""


def reliability(rows: Iterable[Row]) -> list[tuple[float, float]]:
    """Mean confidence and share right of answers of like confidence, in percent, the least sure first."""
    known = _by_confidence(rows)
    count = max(1, min(GROUPS, len(known) // LEAST)) if known else 0
    groups = [known[len(known) * n // count : len(known) * (n + 1) // count] for n in range(count)]
    return [
        (_percent(sure for sure, _ in group), _percent(right for _, right in group))
        for group in groups
    ]


def coverage(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """For every threshold the share of all calls whose answer is taken, and the share of these that is right, in
    percent; the highest threshold first."""
    found: list[tuple[float, float]] = []
    right = 0
    known = _by_confidence(rows)[::-1]
    for number, (sure, holds) in enumerate(known, 1):
        right += holds
        # Equally sure answers are taken together.
        if number == len(known) or known[number][0] != sure:
            found.append((100 * number / len(rows), 100 * right / number))
    return found


def _by_confidence(rows: Iterable[Row]) -> list[tuple[float, bool]]:
    known = [(row.confidence, row.score.right) for row in rows if row.confidence is not None]
    return sorted(known, key=lambda one: one[0])


def _percent(shares: Iterable[float]) -> float:
    held = list(shares)
    return 100 * sum(held) / len(held)
