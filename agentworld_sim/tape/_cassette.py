"""A cassette is a trajectory with a header: what was recorded, and what of it may differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agentworld_sim.tools import ToolCall, ToolSpec
from agentworld_sim.turns import Observation, Trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """Recorded calls with their answers, redacted."""

    trajectory: Trajectory
    tools: tuple[ToolSpec, ...] = ()
    """The tools as they were when it was recorded."""
    volatile: tuple[str, ...] = ()
    """Fields whose values differ each time, as `tool.path`: `*.created_at`, `get_time.now`."""

    @classmethod
    def load(cls, path: Path) -> Self:
        """Raises `UsageError` when it is no cassette, naming the line."""
        raise NotImplementedError


class Recorder:
    """Appends real calls and their answers to a cassette file, one whole line at a time."""

    def __init__(self, path: Path, *, tools: Sequence[ToolSpec], volatile: Sequence[str] = ()):
        raise NotImplementedError

    def add(self, call: ToolCall, observation: Observation) -> None:
        """Records one call, redacted. Safe to call from several tasks and threads."""
        raise NotImplementedError
