"""What differs between two points of a world: files, records and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentworld_sim.types.files import FileEntry, FileTree
from agentworld_sim.types.json import canonical_json, json_form

ChangeKind = Literal["added", "removed", "kind", "modified", "mode", "owner", "mtime"]
"""The most important thing that happened to a path; `FileChange` carries both entries."""

_LETTERS: dict[str, str] = {"added": "A", "removed": "D", "kind": "T"}
"""Of the others `M`."""


@dataclass(frozen=True, slots=True, repr=False)
class FileChange:
    """One path that differs. Its text form is one line: `M /srv/app/run  mode 0644 → 0755`."""

    path: str
    kind: ChangeKind
    before: FileEntry | None
    after: FileEntry | None

    def __repr__(self) -> str:
        return f"FileChange({str(self)!r})"

    def __str__(self) -> str:
        details = "; ".join(self._details())
        return f"{_LETTERS.get(self.kind, 'M')} {self.path}" + (f"  {details}" if details else "")

    def _details(self) -> Iterator[str]:
        before, after = self.before, self.after
        if before is None or after is None:
            return
        if before.kind != after.kind:
            yield f"{before.kind} → {after.kind}"
        elif before.kind == "symlink" and before.content != after.content:
            yield f"link {before.content} → {after.content}"
        if before.mode != after.mode:
            yield f"mode {before.mode:04o} → {after.mode:04o}"
        if (before.owner, before.group) != (after.owner, after.group):
            yield f"owner {before.owner}:{before.group} → {after.owner}:{after.group}"
        if self.kind == "mtime":
            yield "mtime"


def tree_diff(before: FileTree, after: FileTree, *, mtimes: bool = False) -> list[FileChange]:
    """The paths that differ, in order.

    Args:
        before: the older tree.
        after: the newer tree.
        mtimes: also list paths whose modification time alone differs.
    """
    changes: list[FileChange] = []
    for path in before.changes_to(after):
        old, new = before.get(path), after.get(path)
        kind = _kind_of(old, new)
        if kind != "mtime" or mtimes:
            changes.append(FileChange(path, kind, old, new))
    return changes


def _kind_of(before: FileEntry | None, after: FileEntry | None) -> ChangeKind:
    if before is None:
        return "added"
    if after is None:
        return "removed"
    if before.kind != after.kind:
        return "kind"
    if before.content != after.content:
        return "modified"
    if before.mode != after.mode:
        return "mode"
    if (before.owner, before.group) != (after.owner, after.group):
        return "owner"
    return "mtime"


DataChangeKind = Literal["added", "removed", "modified"]


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
    return f"{_LETTERS.get(_kind(before, after), 'M')} {name}  {' → '.join(shown)}"
