"""What a benchmark reports, and how it measures."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    ours: float
    """In `unit`."""
    unit: str = "ms"
    alternative: str = ""
    theirs: float | None = None
    target: str = ""
    """In words."""
    met: bool | None = None

    @property
    def ratio(self) -> str:
        """How many times ours is the alternative's."""
        if self.theirs is None or not self.theirs:
            return ""
        return f"{self.ours / self.theirs:.3g}"


def p50_ms(action: Callable[[], object], times: int = 200, warm_up: int = 10) -> float:
    """The median time of a blocking call, in milliseconds."""
    for _ in range(warm_up):
        action()
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


async def p50_ms_async(
    action: Callable[[], Awaitable[object]], times: int = 200, warm_up: int = 10
) -> float:
    """The median time of an awaited call, in milliseconds."""
    for _ in range(warm_up):
        await action()
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        await action()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000


def run(work: Awaitable[list[Row]]) -> list[Row]:
    """Awaits a benchmark in an event loop of its own."""

    async def main() -> list[Row]:
        return await work

    return asyncio.run(main())
