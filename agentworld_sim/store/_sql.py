"""What the stores in databases have in common: all but how they connect, lock and commit; their SQL is in `queries.sql`.

Tables: `worlds`; `origins`, who asked for which turn of a world; `turns` by ref, each with its depth (the turns from the root to it);
`merges`, all parents of the turns that have several; `held`, the
points that a world keeps alive together with all before them; `states` at some points; `blobs`, and
`uses`, which turn, root or world's failures needs which blob; `doomed`, points that a removed world
held and that may be needed no more.

A removal only moves what the world held to `doomed`. The sweep then works that off from the deepest
point on, in batches, each a short transaction, so that its cost is that of the removed world and other
worlds are never kept waiting for long. One that is killed is finished by the next.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from agentworld_sim.errors import UnknownWorldError, UsageError
from agentworld_sim.ports.stores import WorldRecord, id_taken, no_ref, no_world
from agentworld_sim.types.exchanges import FailedStep
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.turns import Turn

if TYPE_CHECKING:
    from agentworld_sim.types.files import BlobId


T = TypeVar("T")

Database = Any
"""A connection: its `execute` takes a statement and parameters, and gives a cursor."""

SWEEP_BATCH = 500
"""Points in one transaction of the sweep."""


def load_statements(file: str) -> dict[str, str]:
    """The statements of a file of this folder, each under the name in the line above it."""
    found: dict[str, str] = {}
    for part in Path(__file__).with_name(file).read_text("utf-8").split("-- name: ")[1:]:
        title, *lines = part.splitlines()
        name = title.split()[0].rstrip(":")
        found[name] = "\n".join(line for line in lines if not line.startswith("--")).strip()
    return found


class SqlStore(ABC):
    """Implements the part of `WorldStore` that every database does alike."""

    blocking = True
    _sql: Mapping[str, str]
    """The statements of `queries.sql`, for this database."""

    @abstractmethod
    def _read(self, work: Callable[[Database], T]) -> T:
        """What `work` finds."""

    @abstractmethod
    def _write(self, work: Callable[[Database], T], *, sweeps: bool = False) -> T:
        """Does `work` in one transaction; with `sweeps` nobody may begin to need what it removes."""

    @abstractmethod
    def _put_blobs(self, db: Database, blobs: Mapping[BlobId, bytes]) -> None:
        """Stores the blobs that are not there yet."""

    @abstractmethod
    def _use(self, db: Database, owner: str, blobs: set[BlobId]) -> None:
        """Notes that `owner` needs these blobs."""

    def _to_column(self, text: str) -> Any:
        """Text that people or models wrote, as it is stored."""
        return text

    def _from_column(self, stored: Any) -> str:
        return stored

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        row: list[Any] = [*astuple(record)]
        row[3] = self._to_column(record.scenario)
        snapshot = pack_state(state)

        def work(db: Database) -> None:
            begins = record.head == record.root
            if not begins and not db.execute(self._sql["lock_turn"], (record.head,)).fetchone():
                raise UnknownWorldError(no_ref(record.head))
            if not db.execute(self._sql["add_world"], row).rowcount:
                raise UsageError(id_taken(record.id))
            self._put_blobs(db, blobs)
            db.execute(self._sql["hold"], (record.id, record.head))
            db.execute(self._sql["put_state"], (record.head, snapshot))
            if begins:
                self._use(db, record.root, state.blobs())

        self._write(work)

    def world(self, world_id: str) -> WorldRecord:
        return self._read(lambda db: self._world(db, world_id))

    def worlds(self) -> list[WorldRecord]:
        return [
            self._record(row)
            for row in self._read(lambda db: db.execute(self._sql["worlds"]).fetchall())
        ]

    def batch_turns(self, world_id: str, batch: str) -> list[tuple[str, Turn]]:
        rows = self._read(lambda db: db.execute(self._sql["batch"], (world_id, batch)).fetchall())
        return [(call, self._turn(record)) for call, record in rows]

    def rewind(self, world_id: str, ref: WorldRef) -> WorldRecord:
        def work(db: Database) -> WorldRecord:
            self._lock_world(db, world_id)
            place = (world_id, ref)
            if not (
                db.execute(self._sql["holds"], place).fetchone()
                or db.execute(self._sql["inherits"], place).fetchone()
            ):
                raise UnknownWorldError(no_ref(ref, world_id))
            db.execute(self._sql["move"], (ref, ref, world_id))
            return self._world(db, world_id)

        return self._write(work)

    def extend(self, world_id: str, expires: float) -> None:
        def work(db: Database) -> None:
            if not db.execute(self._sql["extend"], (expires, world_id)).rowcount:
                raise self._unknown(db, world_id)

        self._write(work)

    def add_failure(self, world_id: str, failed: FailedStep, blobs: Mapping[BlobId, bytes]) -> None:
        record = self._to_column(canonical_json(failed.to_json()))

        def work(db: Database) -> None:
            self._lock_world(db, world_id)
            self._put_blobs(db, blobs)
            self._use(db, failure_owner(world_id), failed.blobs())
            db.execute(self._sql["add_failure"], (world_id, record))

        self._write(work)

    def failures(self, world_id: str) -> list[FailedStep]:
        def work(db: Database) -> list[Any]:
            self._world(db, world_id)
            return db.execute(self._sql["failures"], (world_id,)).fetchall()

        rows = self._read(work)
        return [FailedStep.from_json(json.loads(self._from_column(record))) for (record,) in rows]

    def has(self, ref: WorldRef) -> bool:
        return (
            self._read(lambda db: db.execute(self._sql["has"], (ref, ref)).fetchone()) is not None
        )

    def state(self, ref: WorldRef) -> WorldState:
        rows = self._read(lambda db: db.execute(self._sql["fold"], (ref,)).fetchall())
        if rows[0][0] is None:
            raise UnknownWorldError(no_ref(ref))
        return fold_turns(rows[0][0], (self._from_column(record) for _, record in rows[1:]))

    def lineage(self, ref: WorldRef) -> list[Turn]:
        rows = self._read(lambda db: db.execute(self._sql["lineage"], (ref,)).fetchall())
        if not rows and not self.has(ref):
            raise UnknownWorldError(no_ref(ref))
        return in_order((self._turn(record) for (record,) in rows), ref)

    def remove(self, world_id: str) -> None:
        def work(db: Database) -> None:
            self._lock_world(db, world_id)
            self._doom(db, world_id)

        self._write(work)
        self._sweep()

    def remove_expired(self, now: float) -> list[str]:
        # Asked before anything is locked: mostly there is none.
        if not self._read(lambda db: db.execute(self._sql["any_expired"], (now,)).fetchone()):
            return []

        def work(db: Database) -> list[str]:
            expired = [found for (found,) in db.execute(self._sql["expired"], (now,)).fetchall()]
            for world_id in expired:
                self._doom(db, world_id)
            return expired

        expired = self._write(work)
        self._sweep()
        return expired

    def _doom(self, db: Database, world_id: str) -> None:
        for statement in self._sql["doom"].split(";\n"):
            db.execute(statement, (world_id,))
        db.execute(self._sql["doom_failures"], (failure_owner(world_id),))
        db.execute(self._sql["remove_world"], (world_id,))

    def _sweep(self) -> None:
        """Removes turns, states and blobs that no world needs any more."""

        def batch(db: Database) -> int:
            taken: int = db.execute(self._sql["take"], (SWEEP_BATCH,)).rowcount
            for statement in self._sql["sweep"].split(";\n") if taken else ():
                db.execute(statement)
            return taken

        while self._write(batch, sweeps=True):
            pass

    def _world(self, db: Database, world_id: str) -> WorldRecord:
        row = db.execute(self._sql["world"], (world_id,)).fetchone()
        if row is None:
            raise self._unknown(db, world_id)
        return self._record(row)

    def _lock_world(self, db: Database, world_id: str) -> None:
        if not db.execute(self._sql["lock_world"], (world_id,)).fetchone():
            raise self._unknown(db, world_id)

    def _unknown(self, db: Database, world_id: str) -> UnknownWorldError:
        known = [
            found
            for query in (self._sql["ids_before"], self._sql["ids_after"])
            for (found,) in db.execute(query, (world_id, NEIGHBOURS)).fetchall()
        ]
        return UnknownWorldError(no_world(world_id, known))

    def _record(self, row: tuple[Any, ...]) -> WorldRecord:
        values: dict[str, Any] = dict(zip(COLUMNS.split(", "), row, strict=True))
        values["scenario"] = self._from_column(values["scenario"])
        return WorldRecord(**values)

    def _turn(self, record: Any) -> Turn:
        return Turn.from_line(self._from_column(record))


SNAPSHOT_EVERY = 32
"""A state is stored whole every so many turns; between, it is fold_turns from the turns' changes."""

NEIGHBOURS = 20
"""Ids looked at on each side of one that is unknown; more would cost as much as all."""

WORTH_PACKING = 256
"""Blobs below this many bytes are stored as they are."""

COLUMNS: LiteralString = "id, root, head, scenario, created, forked_from, turns, expires"
"""Of the table of worlds: the fields of a world record, in their order."""


def pack(data: bytes) -> tuple[bool, bytes]:
    """A blob as stored: compressed when that saves space, and whether it is."""
    if len(data) < WORTH_PACKING:
        return False, data
    small = zlib.compress(data, 1)
    return (True, small) if len(small) < len(data) else (False, data)


def unpack(is_packed: bool, data: bytes) -> bytes:
    """The blob that was stored so."""
    return zlib.decompress(data) if is_packed else data


def pack_state(state: WorldState) -> bytes:
    """A whole state as stored."""
    return zlib.compress(canonical_json(state.to_json()).encode(), 1)


def unpack_state(data: bytes) -> WorldState:
    """The state that was stored so."""
    return WorldState.from_json(json.loads(zlib.decompress(data)))


def fold_turns(snapshot: bytes, records: Iterable[str]) -> WorldState:
    """The state after the turns that `records` hold, the oldest first, on top of a stored one."""
    state = unpack_state(snapshot)
    for record in records:
        state = state.after(Turn.from_line(record).change)
    return state


def in_order(turns: Iterable[Turn], ref: WorldRef) -> list[Turn]:
    """`turns`, which are those that lead to `ref`, oldest first; the branches of a merge one after another."""
    by_ref = {turn.ref: turn for turn in turns}
    found: dict[WorldRef, Turn] = {}
    # A ref comes up again once all before it are there.
    waiting = [ref]
    while waiting:
        turn = by_ref.get(waiting[-1])
        missing = (
            [one for one in turn.parents if one in by_ref and one not in found] if turn else ()
        )
        if missing:
            waiting += reversed(missing)
            continue
        waiting.pop()
        if turn is not None:
            found.setdefault(turn.ref, turn)
    return list(found.values())


def failure_owner(world_id: str) -> str:
    """What stands for the failures of a world where blobs are counted. No ref looks like it."""
    return f"failures:{world_id}"
