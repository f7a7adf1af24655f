"""Worlds in a PostgreSQL database, shared by any number of processes and machines.

Durability is the server's: a turn that was answered is on its disk, unless the server is told
otherwise (`synchronous_commit`).
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentworld_sim.errors import StoreError, UnknownWorldError, UsageError
from agentworld_sim.extras import require
from agentworld_sim.ports.stores import Origin, WorldRecord, id_taken, no_ref, no_world
from agentworld_sim.store._postgres_layout import CLOSE_GATE, PREFIX, SHARE_GATE, prepare
from agentworld_sim.store._queries import NEIGHBOURS, SWEEP_BATCH, queries
from agentworld_sim.store._records import (
    COLUMNS,
    SNAPSHOT_EVERY,
    failure_owner,
    folded,
    in_order,
    packed,
    packed_state,
    record_of,
    row_of,
    unpacked,
)

# The modules, not their names: they are built on this package and may still be loading.
from agentworld_sim.types import exchanges as exchange_records
from agentworld_sim.types import turns as turn_records
from agentworld_sim.types.files import BlobId, Blobs, blob_id
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState

if TYPE_CHECKING:
    from agentworld_sim.store._postgres_connections import Connection, Connections

CONNECTIONS = 4
"""Of one process, at most. Servers let in about a hundred."""

KEPT_BLOB_BYTES = 32 * 1024 * 1024
"""Blobs that a process has read are kept up to this size: a machine that comes up reads them all."""

_SQL = queries(PREFIX, "%s", '%s::text COLLATE "C"', "number")


class PostgresStore:
    """Implements `WorldStore` in the tables `agentworld_…` of one database."""

    blocking = True

    def __init__(self, url: str, *, connections: int = CONNECTIONS) -> None:
        """Connects, and makes the tables if there are none.

        Args:
            url: `postgresql://USER@HOST:PORT/DATABASE`, with any parameters of libpq. What it leaves
                out is taken from PGPASSWORD and the like, and from ~/.pgpass.
            connections: How many this process may have open at once.

        Raises:
            UsageError: the URL cannot be read, or the package psycopg is not installed.
            StoreError: the server or the database cannot be used.
        """
        require("psycopg", extra="postgres")
        from agentworld_sim.store._postgres_connections import Connections

        self._connections = Connections(url, connections)
        self.place = self._connections.place
        """The URL for people: without the password and the parameters."""
        self._blobs = _PostgresBlobs(self._connections)
        try:
            self._connections.run(lambda db: prepare(db, self.place), writes=True)
        except BaseException:
            self._connections.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresStore({self.place!r})"

    @property
    def blobs(self) -> Blobs:
        return self._blobs

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        from psycopg.errors import UniqueViolation

        row: list[Any] = list(row_of(record))
        row[3] = record.scenario.encode()
        snapshot = packed_state(state)
        uses = sorted(state.blobs()) if record.head == record.root else []

        def work(db: Connection) -> None:
            with db.transaction():
                db.execute(SHARE_GATE)
                if (
                    record.head != record.root
                    and not db.execute(_HAS_TURN, (record.head,)).rowcount
                ):
                    raise UnknownWorldError(no_ref(record.head))
                try:
                    db.execute(_INSERT_WORLD, row)
                except UniqueViolation:
                    raise UsageError(id_taken(record.id)) from None
                _put_blobs(db, blobs)
                db.execute(_HOLD, (record.id, record.head))
                db.execute(_PUT_STATE, (record.head, snapshot))
                db.execute(_USE, (record.head, uses))

        self._connections.run(work, writes=True)

    def world(self, world_id: str) -> WorldRecord:
        def work(db: Connection) -> WorldRecord:
            row = db.execute(_WORLD, (world_id,)).fetchone()
            if row is None:
                raise _unknown(db, world_id)
            return _record(row)

        return self._connections.run(work, writes=False)

    def worlds(self) -> list[WorldRecord]:
        rows = self._connections.run(lambda db: db.execute(_WORLDS).fetchall(), writes=False)
        return [_record(row) for row in rows]

    def commit(
        self,
        world_id: str,
        turn: turn_records.Turn,
        state: WorldState,
        blobs: Mapping[BlobId, bytes],
        *,
        must_move_head: bool,
        abandoned: Callable[[], bool] = lambda: False,
        origin: Origin | None = None,
    ) -> bool:
        values = (
            world_id,
            turn.ref,
            turn.parent,
            list(turn.merged),
            turn.to_line().encode(),
            must_move_head,
            *_columns(blobs),
            sorted(turn.blobs()),
            *((origin.batch, origin.call) if origin else (None, None)),
        )

        def work(db: Connection) -> tuple[str, int]:
            # The one round trip below is the last moment.
            found = None if abandoned() else db.execute(_COMMIT, values).fetchone()
            outcome, depth = found or ("abandoned", 0)
            if outcome == "no world":
                raise _unknown(db, world_id)
            return outcome, depth

        outcome, depth = self._connections.run(work, writes=True)
        if outcome == "no parent":
            missing = (one for one in turn.parents if not self.has(one))
            raise UnknownWorldError(no_ref(next(missing, turn.parent)))
        if outcome == "stored" and depth % SNAPSHOT_EVERY == 0:
            self._keep_snapshot(turn.ref, state)
        return outcome == "stored"

    def _keep_snapshot(self, ref: WorldRef, state: WorldState) -> None:
        data = packed_state(state)
        # The turn is stored, and its state can be folded from the one before.
        with suppress(StoreError):
            self._connections.run(lambda db: db.execute(_SNAPSHOT, (data, ref)), writes=True)

    def asked(self, world_id: str, batch: str) -> list[tuple[str, turn_records.Turn]]:
        rows = self._connections.run(
            lambda db: db.execute(_SQL.asked, (world_id, batch)).fetchall(), writes=False
        )
        return [(call, turn_records.Turn.from_line(record.decode())) for call, record in rows]

    def rewind(self, world_id: str, ref: WorldRef) -> WorldRecord:
        def work(db: Connection) -> WorldRecord:
            with db.transaction():
                if not db.execute(_LOCK_WORLD, (world_id,)).rowcount:
                    raise _unknown(db, world_id)
                place = (world_id, ref)
                if not (
                    db.execute(_SQL.holds, place).rowcount
                    or db.execute(_SQL.inherits, place).rowcount
                ):
                    raise UnknownWorldError(no_ref(ref, world_id))
                row = db.execute(_MOVE, (ref, ref, world_id)).fetchone()
                assert row is not None
                return _record(row)

        return self._connections.run(work, writes=True)

    def extend(self, world_id: str, expires: float) -> None:
        def work(db: Connection) -> None:
            if not db.execute(_EXTEND, (expires, world_id)).rowcount:
                raise _unknown(db, world_id)

        self._connections.run(work, writes=True)

    def add_failure(
        self,
        world_id: str,
        failed: exchange_records.FailedStep,
        blobs: Mapping[BlobId, bytes],
    ) -> None:
        record = canonical_json(failed.to_json()).encode()

        def work(db: Connection) -> None:
            with db.transaction():
                db.execute(SHARE_GATE)
                if not db.execute(_LOCK_WORLD, (world_id,)).rowcount:
                    raise _unknown(db, world_id)
                _put_blobs(db, blobs)
                db.execute(_USE, (failure_owner(world_id), sorted(failed.blobs())))
                db.execute(_ADD_FAILURE, (world_id, record))

        self._connections.run(work, writes=True)

    def failures(self, world_id: str) -> list[exchange_records.FailedStep]:
        def work(db: Connection) -> list[Any]:
            if not db.execute(_WORLD, (world_id,)).rowcount:
                raise _unknown(db, world_id)
            return db.execute(_FAILURES, (world_id,)).fetchall()

        rows = self._connections.run(work, writes=False)
        return [exchange_records.FailedStep.from_json(json.loads(record)) for (record,) in rows]

    def has(self, ref: WorldRef) -> bool:
        def work(db: Connection) -> bool:
            return db.execute(_SQL.has, (ref, ref)).rowcount > 0

        return self._connections.run(work, writes=False)

    def state(self, ref: WorldRef) -> WorldState:
        rows = self._connections.run(
            lambda db: db.execute(_SQL.fold, (ref,)).fetchall(), writes=False
        )
        if rows[0][0] is None:
            raise UnknownWorldError(no_ref(ref))
        return folded(rows[0][0], (record.decode() for _, record in rows[1:]))

    def lineage(self, ref: WorldRef) -> list[turn_records.Turn]:
        rows = self._connections.run(
            lambda db: db.execute(_SQL.lineage, (ref,)).fetchall(), writes=False
        )
        if not rows and not self.has(ref):
            raise UnknownWorldError(no_ref(ref))
        return in_order((turn_records.Turn.from_line(one.decode()) for (one,) in rows), ref)

    def remove(self, world_id: str) -> None:
        def work(db: Connection) -> None:
            with db.transaction():
                db.execute(SHARE_GATE)
                if not db.execute(_REMOVE, (world_id,)).rowcount:
                    raise _unknown(db, world_id)
                _doom(db, [world_id])

        self._connections.run(work, writes=True)
        self._sweep()

    def remove_expired(self, now: float) -> list[str]:
        def work(db: Connection) -> list[str]:
            # Mostly there is none, and then this is all.
            if not db.execute(_SQL.expired, (now,)).rowcount:
                return []
            with db.transaction():
                db.execute(SHARE_GATE)
                removed = [found for (found,) in db.execute(_REMOVE_EXPIRED, (now,))]
                _doom(db, removed)
            return removed

        removed = self._connections.run(work, writes=True)
        if removed:
            self._sweep()
        return removed

    def close(self) -> None:
        self._connections.close()

    def _sweep(self) -> None:
        """Removes turns, states and blobs that no world needs any more."""

        def batch(db: Connection) -> int:
            with db.transaction():
                # Nobody may begin to need what is being removed; readers are not stopped.
                db.execute(CLOSE_GATE)
                taken = db.execute(_SQL.take, (SWEEP_BATCH,)).rowcount
                for statement in _SQL.sweep if taken else ():
                    db.execute(statement)
            return taken

        self._blobs.forget()
        while self._connections.run(batch, writes=True):
            pass


class _PostgresBlobs:
    """The blobs, those read last in front."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._kept: OrderedDict[BlobId, bytes] = OrderedDict()
        self._size = 0

    def put(self, data: bytes) -> BlobId:
        name = blob_id(data)
        self._connections.run(lambda db: _put_blobs(db, {name: data}), writes=True)
        return name

    def get(self, blob: BlobId) -> bytes:
        with self._lock:
            data = self._kept.get(blob)
            if data is not None:
                self._kept.move_to_end(blob)
                return data
        row = self._connections.run(
            lambda db: db.execute(_BLOB, (blob,), binary=True).fetchone(), writes=False
        )
        if row is None:
            raise KeyError(blob)
        data = unpacked(*row)
        self._keep(blob, data)
        return data

    def forget(self) -> None:
        """Forgets what was read; some of it may be gone from the store."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    def _keep(self, blob: BlobId, data: bytes) -> None:
        with self._lock:
            if blob in self._kept or len(data) > KEPT_BLOB_BYTES:
                return
            self._kept[blob] = data
            self._size += len(data)
            while self._size > KEPT_BLOB_BYTES:
                self._size -= len(self._kept.popitem(last=False)[1])


def _columns(blobs: Mapping[BlobId, bytes]) -> tuple[list[str], list[bool], list[bytes]]:
    # In order: two that store the same blobs at once must not wait for each other in a circle.
    names = sorted(blobs)
    stored = [packed(blobs[name]) for name in names]
    return names, [is_packed for is_packed, _ in stored], [data for _, data in stored]


def _put_blobs(db: Connection, blobs: Mapping[BlobId, bytes]) -> None:
    if blobs:
        db.execute(_PUT_BLOBS, _columns(blobs))


def _doom(db: Connection, world_ids: Sequence[str]) -> None:
    for world_id in world_ids:
        for statement in _SQL.doom:
            db.execute(statement, (world_id,))
        db.execute(_SQL.doom_failures, (failure_owner(world_id),))


def _unknown(db: Connection, world_id: str) -> UnknownWorldError:
    known = [
        found
        for query in (_SQL.ids_before, _SQL.ids_after)
        for (found,) in db.execute(query, (world_id, NEIGHBOURS))
    ]
    return UnknownWorldError(no_world(world_id, known))


def _record(row: tuple[Any, ...]) -> WorldRecord:
    world_id, root, head, scenario, *rest = row
    return record_of((world_id, root, head, scenario.decode(), *rest))


_WORLD = f"SELECT {COLUMNS} FROM agentworld_worlds WHERE id = %s"
_WORLDS = f"SELECT {COLUMNS} FROM agentworld_worlds ORDER BY number"
_INSERT_WORLD = f"""INSERT INTO agentworld_worlds ({COLUMNS})
    VALUES (%s, %s, %s, %b, %s, %s, %s, %s)"""
_LOCK_WORLD = "SELECT 1 FROM agentworld_worlds WHERE id = %s FOR NO KEY UPDATE"
_MOVE = f"""UPDATE agentworld_worlds SET head = %s,
    turns = COALESCE((SELECT depth FROM agentworld_turns WHERE ref = %s), 0)
    WHERE id = %s RETURNING {COLUMNS}"""
_EXTEND = "UPDATE agentworld_worlds SET expires = %s WHERE id = %s"
_REMOVE = "DELETE FROM agentworld_worlds WHERE id = %s"
_REMOVE_EXPIRED = """DELETE FROM agentworld_worlds
    WHERE expires > 0 AND expires <= %s RETURNING id"""
_COMMIT = """SELECT outcome, new_depth FROM agentworld_commit(
    %s::text, %s::text, %s::text, %s::text[], %b::bytea, %s::boolean,
    %b::text[], %b::boolean[], %b::bytea[], %b::text[], %s::text, %s::text)"""
_HAS_TURN = "SELECT 1 FROM agentworld_turns WHERE ref = %s FOR KEY SHARE"
_HOLD = "INSERT INTO agentworld_held VALUES (%s, %s) ON CONFLICT (world, ref) DO NOTHING"
_USE = """INSERT INTO agentworld_uses (owner, blob) SELECT %s, unnest(%s::text[])
    ON CONFLICT (owner, blob) DO NOTHING"""
_PUT_STATE = "INSERT INTO agentworld_states VALUES (%s, %b) ON CONFLICT (ref) DO NOTHING"
_SNAPSHOT = """INSERT INTO agentworld_states (ref, state)
    SELECT ref, %b::bytea FROM agentworld_turns WHERE ref = %s FOR KEY SHARE
    ON CONFLICT (ref) DO NOTHING"""
_PUT_BLOBS = """INSERT INTO agentworld_blobs (id, packed, data)
    SELECT * FROM unnest(%b::text[], %b::boolean[], %b::bytea[]) ORDER BY 1
    ON CONFLICT (id) DO NOTHING"""
_BLOB = "SELECT packed, data FROM agentworld_blobs WHERE id = %s"
_ADD_FAILURE = "INSERT INTO agentworld_failures (world, record) VALUES (%s, %b)"
_FAILURES = "SELECT record FROM agentworld_failures WHERE world = %s ORDER BY number"
