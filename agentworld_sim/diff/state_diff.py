"""What differs between two points of a world: files, records and values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentworld_sim.diff.patch import FileChange
from agentworld_sim.types.json import canonical_json, json_form

DataChangeKind = Literal["added", "removed", "modified"]

_LETTERS: Mapping[DataChangeKind, str] = {"added": "A", "removed": "D", "modified": "M"}


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One record that differs. Its text form is one line: `D orders/2  {"id":2,"item":"chair"}`."""

    table: str
    key: str
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @property
    def kind(self) -> DataChangeKind:
        """What happened to it."""
        return _kind(self.before, self.after)

    def __str__(self) -> str:
        return _line(f"{self.table}/{self.key}", self.before, self.after)


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value of the state that differs. Its text form is one line: `M stock  3 → 2`."""

    key: str
    before: Any
    """`None` where there was none."""
    after: Any
    """`None` where there is none."""

    @property
    def kind(self) -> DataChangeKind:
        """What happened to it."""
        return _kind(self.before, self.after)

    def __str__(self) -> str:
        return _line(self.key, self.before, self.after)


@dataclass(frozen=True, slots=True, repr=False)
class StateDiff:
    """What differs between two points of a world; false where nothing does. Its text has a line for each
    difference."""

    files: tuple[FileChange, ...] = ()
    """By path."""
    records: tuple[RecordChange, ...] = ()
    """By table, in the order of insertion."""
    values: tuple[ValueChange, ...] = ()
    """By key, without those that engines and controls keep for themselves."""

    def __bool__(self) -> bool:
        return bool(self.files or self.records or self.values)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.files, *self.records, *self.values)))

    def __repr__(self) -> str:
        return f"StateDiff({', '.join(map(str, (*self.files, *self.records, *self.values)))})"

    def to_json(self) -> dict[str, Any]:
        """As JSON: three lists. Contents of files are named by their blobs."""
        return {
            name: [{**json_form(one, "before", "after"), "kind": one.kind} for one in changes]
            for name, changes in (
                ("files", self.files),
                ("records", self.records),
                ("values", self.values),
            )
        }


def _kind(before: Any, after: Any) -> DataChangeKind:
    if before is None:
        return "added"
    return "removed" if after is None else "modified"


def _line(name: str, before: Any, after: Any) -> str:
    shown = [canonical_json(one) for one in (before, after) if one is not None]
    return f"{_LETTERS[_kind(before, after)]} {name}  {' → '.join(shown)}"
