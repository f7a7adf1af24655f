"""What confidence is worth: how often answers of a confidence are right, and what a threshold buys."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from agentworld_sim.bench.run import Row

GROUPS, LEAST = 10, 10
"""Most groups of the reliability curve, and the least answers in each."""

Curve = list[tuple[float, float]]
"""Points in percent."""


def reliability(rows: Iterable[Row]) -> Curve:
    """Mean confidence and share right of answers that are as sure as each other, the least sure first."""
    known = _by_confidence(rows)
    count = min(GROUPS, max(1, len(known) // LEAST))
    groups = (known[len(known) * n // count : len(known) * (n + 1) // count] for n in range(count))
    return [
        (
            100 * sum(sure for sure, _ in some) / len(some),
            100 * sum(right for _, right in some) / len(some),
        )
        for some in groups
        if some
    ]


def coverage(rows: list[Row]) -> Curve:
    """For every threshold, the highest first: the share of calls whose answer is taken, and of these that is right."""
    found: Curve = []
    taken = right = 0
    for _, some in groupby(reversed(_by_confidence(rows)), key=lambda one: one[0]):
        verdicts = [holds for _, holds in some]
        taken, right = taken + len(verdicts), right + sum(verdicts)
        found.append((100 * taken / len(rows), 100 * right / taken))
    return found


def _by_confidence(rows: Iterable[Row]) -> list[tuple[float, bool]]:
    return sorted((row.confidence, row.score.right) for row in rows if row.confidence is not None)
