"""What confidence is worth: how often answers of a confidence are right, and what a threshold buys."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from statistics import fmean

from agentworld_sim.bench.run import Row

Curve = list[tuple[float, float]]
"""Points in percent."""


def reliability(rows: Iterable[Row]) -> Curve:
    """Mean confidence and share right of the answers in every tenth of confidence that has any."""
    found: Curve = []
    for _, some in groupby(_by_confidence(rows), key=lambda one: min(int(10 * one[0]), 9)):
        sure, right = zip(*some, strict=True)
        found.append((100 * fmean(sure), 100 * fmean(right)))
    return found


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
