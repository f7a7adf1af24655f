"""The world's content as a value, and changes to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentworld_sim.types.files import BlobId, FileEntry, FileTree
from agentworld_sim.types.values import apply_changes


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChange:
    """What one turn did to the state. Applying it to the parent's state gives the next one."""

    clock_us: int
    """The world's time after the turn."""
    files: Mapping[str, FileEntry | None] = field(default_factory=dict[str, "FileEntry | None"])
    """Path to its new entry; `None` for a path that is gone."""
    sessions: Mapping[str, BlobId | None] = field(default_factory=dict[str, "BlobId | None"])
    """Name of a shell or terminal to what it keeps; `None` for one that has ended."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Key to JSON value; `None` removes the key. For engines other than the shell."""
    seed: int | None = None
    """A new seed of the random source; set by `fork(seed=…)` only."""

    def then(self, later: StateChange) -> StateChange:
        """This change and then `later`, as one."""
        return StateChange(
            clock_us=later.clock_us,
            files={**self.files, **later.files},
            sessions={**self.sessions, **later.sessions},
            values={**self.values, **later.values},
            seed=self.seed if later.seed is None else later.seed,
        )

    def to_json(self) -> dict[str, Any]:
        files = {path: entry and entry.to_json() for path, entry in self.files.items()}
        mappings = {"files": files, "sessions": dict(self.sessions), "values": dict(self.values)}
        seed = {} if self.seed is None else {"seed": self.seed}
        return {
            "clock_us": self.clock_us,
            **{name: held for name, held in mappings.items() if held},
            **seed,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StateChange:
        return cls(
            clock_us=value["clock_us"],
            files={
                path: None if entry is None else FileEntry.from_json(entry)
                for path, entry in value.get("files", {}).items()
            },
            sessions=value.get("sessions", {}),
            values=value.get("values", {}),
            seed=value.get("seed"),
        )

    def blobs(self) -> set[BlobId]:
        """Every blob this change refers to."""
        named = {
            entry.content
            for entry in self.files.values()
            if entry is not None and entry.kind == "file" and entry.content
        }
        return named | {blob for blob in self.sessions.values() if blob is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldState:
    """The content of a world at one point: files, sessions, values, clock, random source."""

    files: FileTree
    clock_us: int
    """Microseconds since the epoch (UTC)."""
    seed: int
    sessions: Mapping[str, BlobId] = field(default_factory=dict[str, BlobId])
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def after(self, change: StateChange) -> WorldState:
        """The state after `change`."""
        return WorldState(
            files=self.files.with_changes(change.files) if change.files else self.files,
            clock_us=change.clock_us,
            seed=self.seed if change.seed is None else change.seed,
            sessions=apply_changes(self.sessions, change.sessions),
            values=apply_changes(self.values, change.values),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "files": {path: entry.to_json() for path, entry in self.files.items()},
            "clock_us": self.clock_us,
            "seed": self.seed,
            "sessions": dict(self.sessions),
            "values": dict(self.values),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WorldState:
        return cls(
            files=FileTree(
                {path: FileEntry.from_json(entry) for path, entry in value["files"].items()}
            ),
            clock_us=value["clock_us"],
            seed=value["seed"],
            sessions=value["sessions"],
            values=value["values"],
        )

    def blobs(self) -> set[BlobId]:
        """Every blob this state refers to."""
        named = {
            entry.content for entry in self.files.values() if entry.kind == "file" and entry.content
        }
        return named | set(self.sessions.values())
