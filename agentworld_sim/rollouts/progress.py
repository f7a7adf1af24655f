"""How far a batch of rollouts is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True, eq=False)
class UnderWay:
    """A rollout that has begun and not ended."""

    task: str
    index: int
    began: float = field(default_factory=time.monotonic)
    """Host time, seconds."""
    waits_for: Literal["environment", "policy"] = "environment"
    since: float = field(default_factory=time.monotonic)
    """When it began to wait for that."""
    turns: int = 0

    def waiting(self, what: Literal["environment", "policy"]) -> None:
        """Notes what it waits for from now on."""
        self.waits_for = what
        self.since = time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a batch of rollouts stands."""

    finished: int
    failed: int
    """Of those, with `env_error`."""
    total: int
    seconds: float
    """Since it began."""
    slowest: tuple[str, ...]
    """The rollouts that have been waiting longest, in words."""

    def __str__(self) -> str:
        text = f"batch: {self.finished} of {self.total} rollouts after {self.seconds:.0f} s"
        if self.failed:
            text += f", {self.failed} failed"
        if self.slowest:
            text += "; waiting: " + ", ".join(self.slowest)
        return text


OnHeartbeat = Callable[[Progress], None]

_SHOWN = 3


def slowest_of(under_way: list[UnderWay]) -> tuple[str, ...]:
    """Those that have been waiting longest."""
    now = time.monotonic()
    return tuple(
        f"{one.task} number {one.index} (turn {one.turns + 1}, for the {one.waits_for},"
        f" {now - one.since:.0f} s)"
        for one in sorted(under_way, key=lambda one: one.since)[:_SHOWN]
    )
