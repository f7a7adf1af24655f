"""Conditions: what controls set in the state and engines obey while they answer."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from agentworld_sim.types.files import FileTree
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
    """How much more can be written, counted on with every turn; `None` for as much as the limits allow."""
    read_only: tuple[str, ...] = ()
    """Paths at and below which nothing can be written. No turn does, whatever its engine obeys: a call
    that would fails as a whole."""
    denied: tuple[str, ...] = ()
    """The same, and nothing can be read there."""
    offline: bool = False
    """Whether no other machine can be reached."""
    web: tuple[Mapping[str, Any], ...] = ()
    """What is wrong with search results and pages, as `agentworld_sim.engines.search.web_dirt` reads it; the search engine
    obeys it."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Conditions:
        """Those that a state's values hold."""
        held: dict[str, Any] = {}
        for field in fields(cls):
            value = values.get(PREFIX + field.name)
            if value is not None:
                held[field.name] = tuple(value) if isinstance(field.default, tuple) else value
        return cls(**held)

    def after(self, change: StateChange, files: FileTree) -> Conditions:
        """Those that hold when `files` were changed: what was written is not free any more."""
        if self.free_bytes is None or not change.files:
            return self
        before = [entry for path in change.files if (entry := files.get(path)) is not None]
        written = sum(entry.size for entry in change.files.values() if entry is not None)
        return replace(
            self, free_bytes=self.free_bytes - written + sum(entry.size for entry in before)
        )

    def refusal(self, change: StateChange, files: FileTree) -> str:
        """What a change of `files` cannot do, in the words of the system; empty if it can be."""
        free = self.after(change, files).free_bytes
        # What takes away more than it brings can be done on a disk that is too full already.
        if free is not None and free < min(0, self.free_bytes or 0):
            path = max(
                change.files, key=lambda path: ((entry := change.files[path]) and entry.size) or 0
            )
            return f"{path}: No space left on device"
        if not self.read_only and not self.denied:
            return ""
        # A file that is made changes its folder too, and is what the system speaks of.
        folders = {
            path for path, entry in change.files.items() if entry and entry.kind == "directory"
        }
        for path in sorted(change.files, key=lambda path: (path in folders, path)):
            if (number := self.error_at(path)) is not None:
                return f"{path}: {os.strerror(number)}"
        return ""

    def error_at(self, path: str) -> int | None:
        """The number of the system's error if something is written at a path; `None` if it can be."""
        if _below(path, self.read_only):
            return errno.EROFS
        return errno.EACCES if _below(path, self.denied) else None

    def to_values(self) -> dict[str, Any]:
        """What a change's values say so that these hold, beside others. `None` under a key ends one."""
        return {
            PREFIX + field.name: list(value) if isinstance(field.default, tuple) else value
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        }


def _below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
