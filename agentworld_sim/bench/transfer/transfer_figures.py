"""What trials come to: success inside and outside, how the two go together, and whether they rank agents alike."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from agentworld_sim.bench.run import RESAMPLES, interval
from agentworld_sim.bench.transfer.transfer_run import Trial

CELLS = ("both", "inside only", "outside only", "neither")
"""The cells of the table of two by two. `inside only` is the worst: it is what an optimiser would exploit."""


def transfer_figures(trials: Iterable[Trial]) -> dict[str, dict[str, Any]]:
    """The figures of each engine, by its name."""
    by_engine: dict[str, list[Trial]] = {}
    for trial in trials:
        by_engine.setdefault(trial.engine, []).append(trial)
    return {engine: _figures(some) for engine, some in by_engine.items()}


def _figures(trials: Sequence[Trial]) -> dict[str, Any]:
    agents: dict[str, list[Trial]] = {}
    for trial in trials:
        agents.setdefault(trial.agent, []).append(trial)
    diverged = [one for one in trials if one.divergence is not None]
    kinds = {kind: [one for one in trials if one.kind == kind] for kind in ("shell", "mcp", "web")}
    kinds["content-dependent"] = [one for one in trials if one.content_dependent]
    kinds["content-independent"] = [one for one in trials if not one.content_dependent]
    return {
        **_table(trials),
        "tasks": len({one.task for one in trials}),
        "diverged": len(diverged),
        "tau": _ranking(agents),
        "agents": {agent: _table(some) for agent, some in agents.items()},
        "kinds": {kind: _table(some) for kind, some in kinds.items() if some},
    }


def _table(trials: Sequence[Trial]) -> dict[str, Any]:
    cells = dict.fromkeys(CELLS, 0)
    for one in trials:
        cells[CELLS[2 * bool(one.inside) + bool(one.outside)]] += 1
    inside = cells["both"] + cells["inside only"]
    outside = cells["both"] + cells["outside only"]
    return {
        "trials": len(trials),
        "inside": inside / len(trials),
        "outside": outside / len(trials),
        "ratio": outside / inside if inside else None,
        "cells": cells,
        "worst": cells["inside only"] / len(trials),
    }


def _ranking(agents: Mapping[str, Sequence[Trial]]) -> dict[str, float] | None:
    """Kendall's τ-b between the agents' success inside and outside, with its 95 % interval over tasks."""
    passed = [
        {one.task: (not one.inside, not one.outside) for one in some} for some in agents.values()
    ]
    # Of a run that was cut off, those that every agent has done.
    tasks = sorted(set(passed[0]).intersection(*passed))
    if len(passed) < 2 or not tasks:
        return None

    def value(some: Sequence[str]) -> float:
        inside, outside = (
            [sum(one[task][side] for task in some) for one in passed] for side in (0, 1)
        )
        return kendall_tau(inside, outside)

    chance = random.Random(0)
    low, high = interval(value(chance.choices(tasks, k=len(tasks))) for _ in range(RESAMPLES))
    return {"value": value(tasks), "low": low, "high": high}


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's τ-b; 0 where one side ranks nobody."""
    agree = ties_first = ties_second = 0
    pairs = list(combinations(zip(first, second, strict=True), 2))
    for (a, x), (b, y) in pairs:
        agree += ((a > b) - (a < b)) * ((x > y) - (x < y))
        ties_first += a == b
        ties_second += x == y
    across = math.sqrt((len(pairs) - ties_first) * (len(pairs) - ties_second))
    return agree / across if across else 0.0
