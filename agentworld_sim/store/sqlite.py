"""Worlds in one SQLite file, shared by any number of processes.

Durability: write-ahead log with `synchronous=NORMAL`. A process that is killed loses nothing that was
committed; a machine that loses power may lose the last turns, and never the file's integrity.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agentworld_sim.errors import StoreError, UnknownWorldError, UsageError
from agentworld_sim.ports.stores import Origin, WorldRecord, id_taken, no_ref, no_world
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
from agentworld_sim.store._sqlite_layout import (
    STORE_VERSION,
    add_uses,
    bring_up,
    tables_of,
    version_of,
)

# The modules, not their names: they are built on this package and may still be loading.
from agentworld_sim.types import exchanges as exchange_records
from agentworld_sim.types import turns as turn_records
from agentworld_sim.types.files import BlobId, Blobs, blob_id
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState

BUSY_MS = 30_000
"""How long one process waits for another's write."""

MODE_SECONDS = 0.01
"""Between two tries to change the mode of a new file."""

_SQL = queries("", "?", "?", "rowid")


class SqliteStore:
    """Implements `WorldStore` in one file."""

    blocking = True

    def __init__(self, path: Path | str) -> None:
        """Opens or creates the store.

        Raises:
            StoreError: the file is not a store, is damaged, is from a newer release, or cannot be
                written. It is left as it is.
        """
        self.path = path = Path(path)
        self._lock = threading.RLock()
        with self._failures():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Worlds are not for other users of the host. SQLite gives its other files the same mode.
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            self._db = sqlite3.connect(
                path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        version = version_of(self._db)
        if version > STORE_VERSION:
            raise StoreError(
                f"the store {self.path} has version {version}; this release reads up to"
                f" {STORE_VERSION}. Upgrade agentworld-sim, or point AGENTWORLD_HOME elsewhere."
            )
        # Asked again after the tables: another process may be making this very store.
        if version == 0 and tables_of(self._db) and version_of(self._db) == 0:
            raise StoreError(
                f"{self.path} is an SQLite file of something else. Nothing was changed; point"
                " AGENTWORLD_HOME at another folder."
            )
        self._write_ahead()
        self._db.execute("PRAGMA synchronous=NORMAL")
        if version < STORE_VERSION:
            with self._writing():
                bring_up(self._db)

    def _write_ahead(self) -> None:
        # SQLite does not wait by itself while another process changes the mode of a new file.
        until = time.monotonic() + BUSY_MS / 1000
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(MODE_SECONDS)

    @property
    def blobs(self) -> Blobs:
        return _SqliteBlobs(self)

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        with self._failures(), self._lock, self._writing():
            if self._one("SELECT 1 FROM worlds WHERE id=?", record.id):
                raise UsageError(id_taken(record.id))
            if record.head == record.root:
                add_uses(self._db, record.root, state.blobs())
            elif not self._one("SELECT 1 FROM turns WHERE ref=?", record.head):
                raise UnknownWorldError(no_ref(record.head))
            self._put_blobs(blobs)
            self._db.execute(
                f"INSERT INTO worlds ({COLUMNS}) VALUES (?,?,?,?,?,?,?,?)", row_of(record)
            )
            self._hold(record.id, record.head)
            self._put_state(record.head, state)

    def world(self, world_id: str) -> WorldRecord:
        with self._failures(), self._lock:
            row = self._one(f"SELECT {COLUMNS} FROM worlds WHERE id=?", world_id)
            if row is not None:
                return record_of(row)
            known = [
                found
                for query in (_SQL.ids_before, _SQL.ids_after)
                for (found,) in self._db.execute(query, (world_id, NEIGHBOURS))
            ]
            raise UnknownWorldError(no_world(world_id, known))

    def worlds(self) -> list[WorldRecord]:
        with self._failures(), self._lock:
            rows = self._db.execute(f"SELECT {COLUMNS} FROM worlds ORDER BY rowid").fetchall()
            return [record_of(row) for row in rows]

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
        with self._failures(), self._lock, self._writing() as rollback:
            moves = self.world(world_id).head in turn.parents
            if must_move_head and not moves:
                return False
            depth = self._depth(turn.parent) + 1
            added = self._db.execute(
                "INSERT OR IGNORE INTO turns (ref, parent, record, depth) VALUES (?,?,?,?)",
                (turn.ref, turn.parent, turn.to_line(), depth),
            )
            # The same turn of another world has brought all that it needs.
            if added.rowcount:
                self._note_merge(turn)
                self._put_blobs(blobs)
                add_uses(self._db, turn.ref, turn.blobs())
            if turn.merged:
                depth = self._depth(turn.ref)
            self._hold(world_id, turn.ref)
            if origin is not None:
                self._db.execute(
                    "INSERT INTO origins VALUES (?,?,?,?)",
                    (world_id, origin.batch, origin.call, turn.ref),
                )
            if depth % SNAPSHOT_EVERY == 0:
                self._put_state(turn.ref, state)
            if moves:
                self._move(world_id, turn.ref, depth)
            if abandoned():
                rollback()
                return False
        return True

    def asked(self, world_id: str, batch: str) -> list[tuple[str, turn_records.Turn]]:
        with self._failures(), self._lock:
            rows = self._db.execute(_SQL.asked, (world_id, batch)).fetchall()
        return [(call, turn_records.Turn.from_line(line)) for call, line in rows]

    def rewind(self, world_id: str, ref: WorldRef) -> WorldRecord:
        with self._failures(), self._lock, self._writing():
            self.world(world_id)
            if not self._one(_SQL.holds, world_id, ref) and not self._one(
                _SQL.inherits, world_id, ref
            ):
                raise UnknownWorldError(no_ref(ref, world_id))
            self._move(world_id, ref, self._depth(ref))
            return self.world(world_id)

    def extend(self, world_id: str, expires: float) -> None:
        with self._failures(), self._lock, self._writing():
            self.world(world_id)
            self._db.execute("UPDATE worlds SET expires=? WHERE id=?", (expires, world_id))

    def add_failure(
        self,
        world_id: str,
        failed: exchange_records.FailedStep,
        blobs: Mapping[BlobId, bytes],
    ) -> None:
        with self._failures(), self._lock, self._writing():
            self.world(world_id)
            self._put_blobs(blobs)
            add_uses(self._db, failure_owner(world_id), failed.blobs())
            record = canonical_json(failed.to_json())
            self._db.execute("INSERT INTO failures VALUES (?,?)", (world_id, record))

    def failures(self, world_id: str) -> list[exchange_records.FailedStep]:
        with self._failures(), self._lock:
            self.world(world_id)
            rows = self._db.execute(
                "SELECT record FROM failures WHERE world=? ORDER BY rowid", (world_id,)
            ).fetchall()
        return [exchange_records.FailedStep.from_json(json.loads(record)) for (record,) in rows]

    def has(self, ref: WorldRef) -> bool:
        with self._failures(), self._lock:
            return self._one(_SQL.has, ref, ref) is not None

    def state(self, ref: WorldRef) -> WorldState:
        with self._failures(), self._lock:
            rows = self._db.execute(_SQL.fold, (ref,)).fetchall()
        if rows[0][0] is None:
            raise UnknownWorldError(no_ref(ref))
        return folded(rows[0][0], (record for _, record in rows[1:]))

    def lineage(self, ref: WorldRef) -> list[turn_records.Turn]:
        with self._failures(), self._lock:
            lines = self._db.execute(_SQL.lineage, (ref,)).fetchall()
            if not lines and not self.has(ref):
                raise UnknownWorldError(no_ref(ref))
        return in_order((turn_records.Turn.from_line(line) for (line,) in lines), ref)

    def remove(self, world_id: str) -> None:
        with self._failures():
            with self._lock, self._writing():
                self.world(world_id)
                self._doom([world_id])
            self._sweep()

    def remove_expired(self, now: float) -> list[str]:
        with self._failures():
            # Asked before the lock on the file is taken: mostly there is none.
            with self._lock:
                if not self._one(_SQL.expired, now):
                    return []
            with self._lock, self._writing():
                expired = [found for (found,) in self._db.execute(_SQL.expired, (now,))]
                self._doom(expired)
            self._sweep()
        return expired

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _doom(self, world_ids: Sequence[str]) -> None:
        for world_id in world_ids:
            for statement in _SQL.doom:
                self._db.execute(statement, (world_id,))
            self._db.execute(_SQL.doom_failures, (failure_owner(world_id),))
            self._db.execute("DELETE FROM worlds WHERE id=?", (world_id,))

    def _sweep(self) -> None:
        """Removes turns, states and blobs that no world needs any more."""
        while True:
            with self._lock, self._writing():
                if not self._db.execute(_SQL.take, (SWEEP_BATCH,)).rowcount:
                    return
                for statement in _SQL.sweep:
                    self._db.execute(statement)

    def _one(self, query: str, *values: object) -> Any:
        return self._db.execute(query, values).fetchone()

    def _depth(self, ref: WorldRef) -> int:
        row = self._one("SELECT depth FROM turns WHERE ref=?", ref)
        if row is not None:
            return row[0]
        if not self._one("SELECT 1 FROM states WHERE ref=?", ref):
            raise UnknownWorldError(no_ref(ref))
        return 0

    def _note_merge(self, turn: turn_records.Turn) -> None:
        if not turn.merged:
            return
        for parent in turn.merged:
            self._depth(parent)
        self._db.executemany(
            "INSERT INTO merges VALUES (?,?)", [(turn.ref, parent) for parent in turn.parents]
        )
        depth = len(self._db.execute(_SQL.lineage, (turn.ref,)).fetchall())
        self._db.execute("UPDATE turns SET depth=? WHERE ref=?", (depth, turn.ref))

    def _move(self, world_id: str, ref: WorldRef, depth: int) -> None:
        self._db.execute("UPDATE worlds SET head=?, turns=? WHERE id=?", (ref, depth, world_id))

    def _hold(self, world_id: str, ref: WorldRef) -> None:
        self._db.execute("INSERT OR IGNORE INTO held VALUES (?,?)", (world_id, ref))

    def _put_state(self, ref: WorldRef, state: WorldState) -> None:
        self._db.execute("INSERT OR IGNORE INTO states VALUES (?,?)", (ref, packed_state(state)))

    def _put_blobs(self, blobs: Mapping[BlobId, bytes]) -> None:
        if blobs:
            self._db.executemany(
                "INSERT OR IGNORE INTO blobs VALUES (?,?,?)",
                ((name, *packed(data)) for name, data in blobs.items()),
            )

    def get_blob(self, blob: BlobId) -> bytes:
        with self._failures(), self._lock:
            row = self._db.execute("SELECT packed, data FROM blobs WHERE id=?", (blob,)).fetchone()
        if row is None:
            raise KeyError(blob)
        return unpacked(*row)

    def put_blob(self, data: bytes) -> BlobId:
        name = blob_id(data)
        with self._failures(), self._lock, self._writing():
            self._put_blobs({name: data})
        return name

    @contextmanager
    def _writing(self) -> Generator[Callable[[], None]]:
        """One transaction; gives a function that rolls it back."""
        if self._db.in_transaction:
            raise StoreError("a write inside a write: this is a defect, please report it")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield lambda: self._db.execute("ROLLBACK") and None
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    @contextmanager
    def _failures(self) -> Generator[None]:
        """The one place where SQLite's and the file system's errors become ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(_explained(error, self.path)) from error
        except OSError as error:
            raise StoreError(
                f"cannot use {self.path} as a store: {error.strerror}. Point AGENTWORLD_HOME at a"
                " folder that can be written."
            ) from error


class _SqliteBlobs:
    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    def put(self, data: bytes) -> BlobId:
        return self._store.put_blob(data)

    def get(self, blob: BlobId) -> bytes:
        return self._store.get_blob(blob)


def _explained(error: sqlite3.Error, path: Path) -> str:
    text = str(error)
    if "full" in text:
        return f"the disk that holds {path} is full; the turn was not stored. Free some space."
    if "locked" in text or "busy" in text:
        return (
            f"the store {path} stayed locked by another process for {BUSY_MS // 1000} s; the turn"
            " was not stored. Try again."
        )
    if "readonly" in text or "unable to open" in text:
        return f"cannot write the store {path} ({text}). Point AGENTWORLD_HOME at another folder."
    return (
        f"{path} is damaged or is no store ({text}). It was left as it is: move it away to start"
        " afresh, or restore a copy."
    )
