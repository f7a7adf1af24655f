"""Branches of a world's history meet: a three-way merge by key from their common ancestor.

Pure: the same branches in the same order give the same turn, in any process. What only one branch changed
is taken. What both changed is brought together where its kind allows it; what is left goes to the later
branch and is named on the turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, cast

from agentworld_sim.errors import UsageError
from agentworld_sim.ports.stores import WorldStore
from agentworld_sim.runtime.world_history import NO_CALL
from agentworld_sim.types.conditions import PREFIX as CONDITIONS
from agentworld_sim.types.files import FileEntry, FileTree, parent_of
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Action, Conflict, Observation, Turn
from agentworld_sim.types.values import changed_keys

TABLES = "tables/"
"""Where records are kept: `tables/TABLE` for a table that has its first records, `tables/TABLE/KEY` for one
record with its number, `tables/TABLE/+SCOPE` for the highest number that a key had."""

WHOLES = re.compile(r"(browser/)(?!page/)|(sqlite(?:@[^/]*)?/)")
"""Values that only make sense together: the tab of a browser, the database of a server."""

_NUMBERED = re.compile(r"(.*/)(\d+)")
_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d+)")
_RANDOM = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=.*\d)(?=.*[a-f])[0-9a-f]{6,64}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d")


def merge_of(store: WorldStore, tips: Iterable[WorldRef]) -> tuple[Turn, WorldState] | WorldRef:
    """The turn in which branches meet, and the state after it; or the one tip that all others lead to. Nothing is
    stored. Of two that changed the same, the later in `tips` stays.

    Raises:
        UnknownWorldError: a tip is not stored there.
        UsageError: they have no point in common, or there are none.
    """
    lines = {tip: store.lineage(tip) for tip in dict.fromkeys(tips)}
    behind = {
        tip: {turn.ref for turn in line} | ({line[0].parent} if line else {tip})
        for tip, line in lines.items()
    }
    left = [
        tip for tip in lines if not any(tip in behind[other] for other in lines if other != tip)
    ]
    if len(left) < 2:
        if not left:
            raise UsageError("nothing to merge: name at least one point of the world's history.")
        return left[0]
    first, *others = left
    after = before = store.state(first)
    past, turns = set(behind[first]), list(lines[first])
    conflicts: tuple[Conflict, ...] = ()
    for tip in others:
        line = lines[tip]
        points = [*(line[0].parent for _ in line[:1]), *(turn.ref for turn in line)]
        common = [one for one in points if one in past]
        if not common:
            raise UsageError(
                f"the points {first} and {tip} have no point in common: they are of different worlds."
            )
        # Where an earlier merge was gone round, the branches share more than one last point.
        above = {one for turn in lines[tip] if turn.ref in past for one in turn.parents}
        parted = merge_of(store, [one for one in common if one not in above])
        known = set(common)
        base = with_first_records(
            store.state(parted) if isinstance(parted, str) else parted[1],
            [turn for turn in turns if turn.ref not in known],
            [turn for turn in lines[tip] if turn.ref not in known],
        )
        after, found = merge_states(base, after, store.state(tip), kept=tip)
        conflicts += found
        turns += [turn for turn in lines[tip] if turn.ref not in past]
        past |= behind[tip]
    turn = Turn(
        parent=first,
        merged=tuple(others),
        call=ToolCall(NO_CALL),
        action=Action(""),
        observation=Observation(text="", provenance="computed"),
        change=_change(before, after),
        conflicts=conflicts,
    )
    return turn, before.after(turn.change)


def merge_states(
    base: WorldState, ours: WorldState, theirs: WorldState, *, kept: WorldRef
) -> tuple[WorldState, tuple[Conflict, ...]]:
    """The state that has what both branches changed since `base`. Where the two cannot be brought together, the changes
    of the later one, `theirs`, stay; `kept` is its tip, for the conflicts."""
    files, paths = _merge_files(base.files, ours.files, theirs.files)
    values = _Values(base.values, ours.values, theirs.values, kept)
    change = StateChange(
        clock_us=max(ours.clock_us, theirs.clock_us),
        files=files,
        sessions={
            name: theirs.sessions.get(name)
            for name in {**base.sessions, **theirs.sessions}
            if base.sessions.get(name) != theirs.sessions.get(name)
        },
        values=values.merge(),
        seed=theirs.seed if theirs.seed != base.seed else None,
    )
    conflicts = [Conflict(kind="file", key=path, kept=kept) for path in paths]
    conflicts += values.conflicts
    if base.seed != theirs.seed != ours.seed != base.seed:
        conflicts.append(Conflict(kind="seed", key="seed", kept=kept))
    return ours.after(change), tuple(conflicts)


def with_first_records(
    base: WorldState, ours: Sequence[Turn], theirs: Sequence[Turn]
) -> WorldState:
    """`base` with the records that a table begins with, where both branches were the first to touch it:
    they are the same records, though their times were counted from another moment."""
    values: dict[str, Any] = {}
    for table, began in _first_touches(theirs).items():
        mine = _first_touches(ours).get(table)
        if mine is None or table in base.values:
            continue
        last = min(max(_number(one) for one in both.values()) for both in (mine, began))
        for path, value in began.items():
            if path not in mine or _number(mine[path]) != _number(value):
                continue
            # The call that began the table may have made a record too: the last one.
            if _number(value) < last or _timeless(mine[path]) == _timeless(value):
                values[path] = value
    return base.after(StateChange(clock_us=base.clock_us, values=values)) if values else base


def _first_touches(turns: Iterable[Turn]) -> dict[str, dict[str, Any]]:
    """By the path of each table that the turns began: its values then, the table's own too."""
    found: dict[str, dict[str, Any]] = {}
    for turn in turns:
        for path, value in turn.change.values.items():
            if path.startswith(TABLES) and path.count("/") == 1 and value is not None:
                found.setdefault(
                    path,
                    {
                        key: one
                        for key, one in turn.change.values.items()
                        if (key == path or key.startswith(f"{path}/")) and one is not None
                    },
                )
    return found


def _number(value: Any) -> int:
    return cast("Mapping[str, Any]", value).get("n", 0) if isinstance(value, Mapping) else 0


def _timeless(value: Any) -> Any:
    """`value` without what depends on when it was made up."""
    if isinstance(value, Mapping):
        return {key: _timeless(one) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, str) and _TIME.match(value):
        return ""
    return 0 if isinstance(value, int) and value > 1_000_000_000 else value


def _change(before: WorldState, after: WorldState) -> StateChange:
    sessions = {*before.sessions, *after.sessions}
    return StateChange(
        clock_us=after.clock_us,
        files=before.files.changes_to(after.files),
        sessions={
            name: after.sessions.get(name)
            for name in sorted(sessions)
            if before.sessions.get(name) != after.sessions.get(name)
        },
        values={
            key: after.values.get(key) for key in sorted(changed_keys(before.values, after.values))
        },
        seed=None if after.seed == before.seed else after.seed,
    )


# Files


def _merge_files(
    base: FileTree, ours: FileTree, theirs: FileTree
) -> tuple[dict[str, FileEntry | None], list[str]]:
    """What `ours` becomes, and the paths where something was lost."""
    changes: dict[str, FileEntry | None] = {}
    lost: set[str] = set()
    for path, entry in base.changes_to(theirs).items():
        before, mine = base.get(path), ours.get(path)
        if mine in (before, entry):
            changes[path] = entry
            continue
        changes[path], both = _merge_entry(before, mine, entry)
        if not both:
            lost.add(path)
    tree = dict(ours.with_changes(changes))
    for path, entry in list(changes.items()):
        above = parent_of(path) if entry is not None else "/"
        while above != "/":
            mine, their = tree.get(above), theirs.get(above)
            if mine and mine.kind != "directory" and their and their.kind == "directory":
                # The later branch has something in the folder of which the other made something else.
                tree[above] = changes[above] = their
                lost.add(above)
            above = parent_of(above)
    for path in sorted(tree):
        above = tree.get(parent_of(path))
        if path == "/" or (above is not None and above.kind == "directory"):
            continue
        missing = _missing_above(path, tree)
        if missing is None:
            # The later branch, or both, have something else in the place of its folder.
            changes[path] = None
            del tree[path]
            lost.add(path)
            continue
        for folder in missing:
            # A folder that one branch removed, and the other put something into, stays.
            entry = theirs.get(folder) or ours.get(folder)
            if entry is None or entry.kind != "directory":
                entry = base[folder]
            tree[folder] = changes[folder] = entry
            lost.add(folder)
    return dict(sorted(changes.items())), sorted(lost)


def _missing_above(path: str, tree: Mapping[str, FileEntry]) -> list[str] | None:
    """The folders above `path` that are not there; `None` if something else stands in the way."""
    missing: list[str] = []
    while path != "/":
        path = parent_of(path)
        above = tree.get(path)
        if above is None:
            missing.append(path)
        elif above.kind != "directory":
            return None
    return missing


def _merge_entry(
    before: FileEntry | None, mine: FileEntry | None, their: FileEntry | None
) -> tuple[FileEntry | None, bool]:
    """One path that both branches changed, and whether both changes are in it."""
    if mine is None or their is None or mine.kind != their.kind:
        return their, False
    whole = True
    parts: dict[str, Any] = {}
    for names in (("content", "size"), ("mode",), ("owner",), ("group",)):
        one, other, was = (
            tuple(getattr(entry, name, None) for name in names) for entry in (mine, their, before)
        )
        whole = whole and (one == other or was in (one, other))
        parts.update(zip(names, one if other == was else other, strict=True))
    return replace(their, **parts, mtime_us=max(mine.mtime_us, their.mtime_us)), whole


# Values


class _Table:
    """The numbers and keys that records of a table have."""

    def __init__(
        self,
        start: str,
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
        changes: Mapping[str, Any],
    ) -> None:
        """`start` is what the paths of its records begin with, `changes` what the values of `ours` become."""
        held = {
            path.removeprefix(start): _number(value)
            for values in (ours, changes)
            for path, value in values.items()
            if path.startswith(start) and _is_record(path, value) and changes.get(path, value)
        }
        their = {
            path.removeprefix(start): _number(theirs[path])
            for path in theirs
            if path.startswith(start)
        }
        self.held = set(held)
        self.numbers = set(held.values())
        self.keys = {*held, *their}
        self.highest = max((*held.values(), *their.values()), default=0)

    def add(self, key: str, number: int) -> None:
        """Another record."""
        self.held.add(key)
        self.keys.add(key)
        self.numbers.add(number)
        self.highest = max(self.highest, number)


class _Values:
    """The three-way merge of the values of states."""

    def __init__(
        self,
        base: Mapping[str, Any],
        ours: Mapping[str, Any],
        theirs: Mapping[str, Any],
        kept: WorldRef,
    ) -> None:
        self._base, self._ours, self._theirs, self._history = base, ours, theirs, kept
        self._mine = changed_keys(base, ours)
        self._changes: dict[str, Any] = {}
        self._tables: dict[str, _Table] = {}
        self.conflicts: list[Conflict] = []

    def merge(self) -> dict[str, Any]:
        """What the values of `ours` become."""
        their = sorted(changed_keys(self._base, self._theirs))
        new: list[str] = []
        for key in self._wholes(their):
            mine, value = self._ours.get(key), self._theirs.get(key)
            if _is_record(key, value) and key not in self._base:
                new.append(key)
            elif key not in self._mine:
                self._changes[key] = value
            elif mine != value or _adds(key, mine):
                self._both(key, mine, value)
        for key in sorted(new, key=lambda key: (_table(key), _number(self._theirs[key]), key)):
            self._new_record(key)
        return dict(sorted(self._changes.items()))

    def _wholes(self, their: Sequence[str]) -> list[str]:
        """The keys that are left when those of wholes are through."""
        left: list[str] = []
        wholes = {found for key in self._mine if (found := _whole(key))}
        both: set[str] = set()
        for key in their:
            whole = _whole(key)
            if whole in wholes:
                both.add(whole)
            else:
                left.append(key)
        for whole in sorted(both):
            keys = {key for key in (*self._ours, *self._theirs) if _whole(key) == whole}
            changes = {key: self._theirs.get(key) for key in keys}
            if any(self._ours.get(key) != value for key, value in changes.items()):
                self._changes.update(changes)
                self._conflict("value", whole)
        return left

    def _both(self, key: str, mine: Any, value: Any) -> None:
        """A value that both branches changed, each in its own way."""
        before = self._base.get(key)
        if _is_count(mine) and _is_count(value) and (before is None or _is_count(before)):
            if _adds(key, mine):
                self._changes[key] = mine + value - (before or 0)
                return
            if key.startswith(TABLES):
                self._changes[key] = max(mine, value)
                return
        numbered = _NUMBERED.fullmatch(key)
        if numbered and before is None and mine is not None and value is not None:
            self._changes[self._next(*numbered.groups())] = value
            return
        lost: list[Any] = []
        self._changes[key] = _merge_json(before, mine, value, lost)
        if lost:
            record = _is_record(key, mine) or _is_record(key, value)
            self._conflict("record" if record else "value", key)

    def _next(self, start: str, number: str) -> str:
        """The key that follows all that begin so."""
        taken = [
            int(found[2])
            for values in (self._ours, self._theirs, self._changes)
            for key in values
            if key.startswith(start) and (found := _NUMBERED.fullmatch(key)) and found[1] == start
        ]
        return f"{start}{max(taken) + 1:0{len(number)}d}"

    def _new_record(self, path: str) -> None:
        """A record that the later branch made: its number and its key are its own."""
        start, value = _table(path), self._theirs[path]
        if start not in self._tables:
            self._tables[start] = _Table(start, self._ours, self._theirs, self._changes)
        table = self._tables[start]
        key, record = path.removeprefix(start), value["record"]
        number = value["n"] if value["n"] not in table.numbers else table.highest + 1
        if key in table.held or (number != value["n"] and key.startswith("#")):
            fresh, record = _fresh(key, record, number, table.keys)
            if fresh is None:
                # A name that both gave: one record.
                mine = self._ours[path]
                self._both(path, mine, {**value, "n": mine["n"]})
                return
            if not key.startswith("#"):
                self._conflict("record", path, moved=start + fresh)
            key = fresh
        table.add(key, number)
        self._changes[start + key] = {"n": number, "record": record}

    def _conflict(self, kind: Any, key: str, moved: str = "") -> None:
        self.conflicts.append(Conflict(kind=kind, key=key, kept=self._history, moved=moved))


def _merge_json(before: Any, mine: Any, their: Any, lost: list[Any]) -> Any:
    """A JSON value that both branches changed: objects by key, lists that grew one after the other. What is lost of
    `mine` is added to `lost`."""
    if mine == their or their == before:
        return mine
    if mine == before:
        return their
    if isinstance(mine, Mapping) and isinstance(their, Mapping):
        one, other = cast("Mapping[str, Any]", mine), cast("Mapping[str, Any]", their)
        was: Mapping[str, Any] = (
            cast("Mapping[str, Any]", before) if isinstance(before, Mapping) else {}
        )
        made = {
            key: _merge_json(was.get(key, _GONE), one.get(key, _GONE), other.get(key, _GONE), lost)
            for key in {**one, **other}
        }
        return {key: value for key, value in made.items() if value is not _GONE}
    if isinstance(mine, list) and isinstance(their, list):
        first, second = cast("list[Any]", mine), cast("list[Any]", their)
        start: list[Any] = cast("list[Any]", before) if isinstance(before, list) else []
        if first[: len(start)] == second[: len(start)] == start:
            return first + second[len(start) :]
    lost.append(mine)
    return cast("Any", their)


_GONE = object()
"""Stands for a key that is not there."""


def _fresh(
    key: str, record: Mapping[str, Any], number: int, taken: set[str]
) -> tuple[str | None, Mapping[str, Any]]:
    """A key that nobody has, and the record with it; `None` for a name that somebody gave."""
    if key.startswith("#"):
        return f"#{number}", record
    *scope, own = cast("list[Any]", json.loads(f"[{key}]"))
    field = next((name for name, value in record.items() if value == own), None)
    other = _others(own)
    if field is None or other is None:
        return None, record
    attempt = 1
    while (fresh := canonical_json([*scope, other(attempt)])[1:-1]) in taken:
        attempt += 1
    return fresh, {**record, field: other(attempt)}


def _others(own: Any) -> Callable[[int], Any] | None:
    """Gives keys like `own`, one after another; `None` for one that is a name."""
    if isinstance(own, int):
        return lambda attempt: own + attempt
    text = str(own)
    if _RANDOM.fullmatch(text):
        return lambda attempt: _like(text, attempt)
    ends = _ENDS_IN_NUMBER.fullmatch(text)
    if ends is None:
        return None
    return lambda attempt: ends[1] + str(int(ends[2]) + attempt).zfill(len(ends[2]))


def _like(text: str, attempt: int) -> str:
    """Other hexadecimal digits in the places of those of `text`."""
    digits = iter(blake2b(f"{attempt}:{text}".encode(), digest_size=32).hexdigest())
    return "".join(one if one == "-" else next(digits, one) for one in text)


def _adds(key: str, value: Any) -> bool:
    """Whether a value counts something: what branches counted adds up, also where they counted the same."""
    # The numbers of tables are the highest that there were, those of conditions are limits.
    return _is_count(value) and not key.startswith((TABLES, CONDITIONS))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_record(key: str, value: Any) -> bool:
    return (
        key.startswith(TABLES)
        and isinstance(value, Mapping)
        and set(cast("Mapping[str, Any]", value)) == {"n", "record"}
    )


def _table(path: str) -> str:
    """`tables/TABLE/` of a record's path."""
    return "/".join(path.split("/", 2)[:2]) + "/"


def _whole(key: str) -> str | None:
    found = WHOLES.match(key)
    return found[0] if found else None
