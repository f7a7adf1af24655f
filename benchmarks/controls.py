"""What controls cost: steps of an engine that does nothing, with and without five controls, in turn."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence

from agentworld_sim import Control, FunctionEngine, Scenario, ToolCall, World
from agentworld_sim.controls import (
    HiddenFact,
    Pagination,
    RateLimit,
    ServerError,
    SlowAnswer,
    TruncatedResult,
)
from benchmarks._rows import Row

ROUNDS = 30
TURNS = 40
"""Turns of one world: a chance is drawn by the calls before it."""

SCENARIO = Scenario.model_validate(
    {"name": "b", "domains": ["mcp"], "tools": [{"name": "f"}, {"name": "g"}]}
)
ENGINE = FunctionEngine({name: lambda arguments, values: "fine\n" for name in "fg"})

IDLE: Sequence[Control] = (
    ServerError(name="a", tool="g"),
    RateLimit(name="b", tool="g"),
    SlowAnswer(name="c", tool="g*"),
    TruncatedResult(name="d", domain="terminal"),
    Pagination(name="e", tool="other"),
)
"""They concern other calls."""

BUSY: Sequence[Control] = (
    ServerError(name="a", probability=0.05),
    RateLimit(name="b", limit=1000),
    SlowAnswer(name="c", probability=0.3),
    TruncatedResult(name="d"),
    HiddenFact(name="e", fact="secret"),
)
"""They look at every call, and strike some."""


async def _step_us(controls: Sequence[Control], seed: int) -> list[float]:
    taken: list[float] = []
    async with await World.create(
        SCENARIO, engines=[ENGINE], controls=controls, seed=seed
    ) as world:
        for number in range(TURNS):
            begun = time.perf_counter()
            await world.step(ToolCall("f", {"n": number}))
            taken.append((time.perf_counter() - begun) * 1e6)
    return taken


async def _measure() -> dict[str, float]:
    sets = {"none": (), "again": (), "idle": IDLE, "busy": BUSY}
    taken: dict[str, list[float]] = {name: [] for name in sets}
    for seed in range(ROUNDS):
        for name, controls in sets.items():
            taken[name] += await _step_us(controls, seed)
    return {name: statistics.median(one) for name, one in taken.items()}


def rows() -> list[Row]:
    """Microseconds of a step in the median."""
    us = asyncio.run(_measure())
    plain = us["none"]
    made = [Row("a step without controls", plain, "µs", "measured again", us["again"])]
    for name, what in (("idle", "that concern other calls"), ("busy", "that look at every call")):
        added = us[name] - plain
        made.append(
            Row(f"five controls {what} add", added, "µs", target="under 50 µs", met=added < 50)
        )
    return made
