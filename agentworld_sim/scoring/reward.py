"""What a reward is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reward:
    """A number, and what it is made of."""

    value: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named parts, before weights; for metrics and people. Those with a slash in their names (`goal/…`) belong
    to one task: they are kept in its records and are no metrics."""
    reason: str = ""
    """Why, in one line, for people."""
