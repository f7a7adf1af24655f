"""`disk-full`: there is no space left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from agentworld_sim.controls.read_only import WriteFailure
from agentworld_sim.types.conditions import Conditions


@dataclass(frozen=True, kw_only=True)
class DiskFull(WriteFailure):
    """From the first call that it strikes, no tool can add more than `free_bytes` to the files; what is deleted can be
    written again. Calls of its own tools that would change records fail as a whole."""

    lowest: ClassVar[Mapping[str, float]] = {"free_bytes": 0}

    free_bytes: int = 0
    """How much more can be written."""
    text: str = "No space left on device"
    """What a call fails with that would change records."""

    @property
    def conditions(self) -> Conditions:
        return Conditions(free_bytes=self.free_bytes)

    def describe(self) -> str:
        return f"After {self.calls}, at most {self.free_bytes} bytes more can be written: {self.text!r}."
