"""Conditions: what controls set in the state and engines obey while they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from agentworld_sim.types.state import StateChange

PREFIX = "condition/"
"""What the keys of conditions begin with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What the world's machine or service is short of. Kept in the state's values, each under
    `condition/` and its name.

    A control sets one for a single call in the state that it gives to `next`, and for good in the change
    of its answer. An engine reads them with every call.
    """

    free_bytes: int | None = None
    """How much more can be written; `None` for as much as the limits allow."""
    read_only: tuple[str, ...] = ()
    """Paths at and below which nothing can be written. No turn does, whatever its engine obeys: a call
    that would fails as a whole."""
    denied: tuple[str, ...] = ()
    """The same, and nothing can be read there."""
    offline: bool = False
    """Whether no other machine can be reached."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Conditions:
        """Those that a state's values hold."""
        held: dict[str, Any] = {}
        for field in fields(cls):
            value = values.get(PREFIX + field.name)
            if value is not None:
                held[field.name] = tuple(value) if isinstance(field.default, tuple) else value
        return cls(**held)

    def refusal(self, change: StateChange) -> str:
        """What a change cannot do, in the words of the system; empty if it can be."""
        if not self.read_only and not self.denied:
            return ""
        # A file that is made changes its folder too, and is what the system speaks of.
        folders = {
            path for path, entry in change.files.items() if entry and entry.kind == "directory"
        }
        for path in sorted(change.files, key=lambda path: (path in folders, path)):
            if _below(path, self.read_only):
                return f"{path}: Read-only file system"
            if _below(path, self.denied):
                return f"{path}: Permission denied"
        return ""

    def to_values(self) -> dict[str, Any]:
        """What a change's values say so that these hold, beside others. `None` under a key ends one."""
        return {
            PREFIX + field.name: list(value) if isinstance(field.default, tuple) else value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }


def _below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
