"""Worlds in one SQLite file, shared by any number of processes.

Durability: write-ahead log with `synchronous=NORMAL`. A process that is killed loses nothing that was
committed; a machine that loses power may lose the last turns, and never the file's integrity.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import zlib
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

# The modules, not their names: they are built on this package and may still be loading.
from agentworld_sim import exchanges as exchange_records
from agentworld_sim import turns as turn_records
from agentworld_sim.errors import StoreError, UnknownWorldError, UsageError
from agentworld_sim.state._changes import WorldState
from agentworld_sim.state._files import BlobId, Blobs, blob_id
from agentworld_sim.state._refs import WorldRef
from agentworld_sim.state._store import WorldRecord, id_taken, no_ref, no_world
from agentworld_sim.tools import canonical_json

STORE_VERSION = 2
"""Of the file's layout. A file with a higher one was written by a newer release."""

BUSY_MS = 30_000
"""How long one process waits for another's write."""

SNAPSHOT_EVERY = 32
"""A state is stored whole every so many turns; between, it is folded from the turns' changes."""

WORTH_PACKING = 256
"""Blobs below this many bytes are stored as they are."""

_SCHEMA = """
CREATE TABLE worlds (
    id TEXT PRIMARY KEY, root TEXT NOT NULL, head TEXT NOT NULL, scenario TEXT NOT NULL,
    created TEXT NOT NULL, forked_from TEXT NOT NULL, turns INTEGER NOT NULL
) STRICT;
CREATE TABLE turns (ref TEXT PRIMARY KEY, parent TEXT NOT NULL, record TEXT NOT NULL) STRICT;
CREATE TABLE held (world TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (world, ref)) STRICT;
CREATE TABLE states (ref TEXT PRIMARY KEY, state BLOB NOT NULL) STRICT;
CREATE TABLE blobs (id TEXT PRIMARY KEY, packed INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
"""

_SINCE_2 = "CREATE TABLE failures (world TEXT NOT NULL, record TEXT NOT NULL) STRICT"

_COLUMNS = "id, root, head, scenario, created, forked_from, turns"


class SqliteStore:
    """Implements `WorldStore` in one file."""

    blocking = True

    def __init__(self, path: Path) -> None:
        """Opens or creates the store.

        Raises:
            StoreError: the file is not a store, is damaged, is from a newer release, or cannot be
                written. It is left as it is.
        """
        self.path = path
        self._lock = threading.RLock()
        with self._failures():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        version = self._version()
        if version > STORE_VERSION:
            raise StoreError(
                f"the store {self.path} has version {version}; this release reads up to"
                f" {STORE_VERSION}. Upgrade agentworld-sim, or point AGENTWORLD_HOME elsewhere."
            )
        # Asked again after the tables: another process may be making this very store.
        if version == 0 and self._tables() and self._version() == 0:
            raise StoreError(
                f"{self.path} is an SQLite file of something else. Nothing was changed; point"
                " AGENTWORLD_HOME at another folder."
            )
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=NORMAL")
        if version < STORE_VERSION:
            with self._writing():
                # Another process may have done it meanwhile.
                version = self._version()
                if version == 0:
                    for statement in _SCHEMA.split(";\n"):
                        self._db.execute(statement)
                if version < STORE_VERSION:
                    self._db.execute(_SINCE_2)
                    self._db.execute(f"PRAGMA user_version={STORE_VERSION}")

    def _tables(self) -> int:
        return self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]

    def _version(self) -> int:
        return self._db.execute("PRAGMA user_version").fetchone()[0]

    @property
    def blobs(self) -> Blobs:
        return _SqliteBlobs(self)

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        with self._failures(), self._lock, self._writing():
            taken = self._db.execute("SELECT 1 FROM worlds WHERE id=?", (record.id,)).fetchone()
            if taken:
                raise UsageError(id_taken(record.id))
            self._put_blobs(blobs)
            self._db.execute(
                f"INSERT INTO worlds ({_COLUMNS}) VALUES (?,?,?,?,?,?,?)",
                (
                    record.id,
                    record.root,
                    record.head,
                    record.scenario,
                    record.created,
                    record.forked_from,
                    record.turns,
                ),
            )
            self._hold(record.id, record.head)
            self._put_state(record.head, state)

    def world(self, world_id: str) -> WorldRecord:
        with self._failures(), self._lock:
            row = self._db.execute(
                f"SELECT {_COLUMNS} FROM worlds WHERE id=?", (world_id,)
            ).fetchone()
            if row is None:
                known = [one for (one,) in self._db.execute("SELECT id FROM worlds")]
                raise UnknownWorldError(no_world(world_id, known))
            return _record(row)

    def worlds(self) -> list[WorldRecord]:
        with self._failures(), self._lock:
            rows = self._db.execute(f"SELECT {_COLUMNS} FROM worlds ORDER BY rowid").fetchall()
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
    ) -> bool:
        with self._failures(), self._lock, self._writing() as rollback:
            record = self.world(world_id)
            moves = record.head == turn.parent
            if must_move_head and not moves:
                return False
            self._put_blobs(blobs)
            self._db.execute(
                "INSERT OR IGNORE INTO turns VALUES (?,?,?)",
                (turn.ref, turn.parent, turn.to_line()),
            )
            self._hold(world_id, turn.ref)
            if (record.turns + 1) % SNAPSHOT_EVERY == 0:
                self._put_state(turn.ref, state)
            if moves:
                self._db.execute(
                    "UPDATE worlds SET head=?, turns=turns+1 WHERE id=?", (turn.ref, world_id)
                )
            if abandoned():
                rollback()
                return False
        return True

    def add_failure(
        self,
        world_id: str,
        failed: exchange_records.FailedStep,
        blobs: Mapping[BlobId, bytes],
    ) -> None:
        with self._failures(), self._lock, self._writing():
            self.world(world_id)
            self._put_blobs(blobs)
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
            return (
                self._db.execute(
                    "SELECT 1 FROM turns WHERE ref=?1 UNION ALL SELECT 1 FROM states WHERE ref=?1",
                    (ref,),
                ).fetchone()
                is not None
            )

    def state(self, ref: WorldRef) -> WorldState:
        with self._failures(), self._lock:
            changes: list[turn_records.Turn] = []
            while True:
                row = self._db.execute("SELECT state FROM states WHERE ref=?", (ref,)).fetchone()
                if row is not None:
                    break
                turn = self._turn(ref)
                if turn is None:
                    raise UnknownWorldError(no_ref(ref))
                changes.append(turn)
                ref = turn.parent
            state = WorldState.from_json(json.loads(zlib.decompress(row[0])))
        for turn in reversed(changes):
            state = state.after(turn.change)
        return state

    def lineage(self, ref: WorldRef) -> list[turn_records.Turn]:
        with self._failures(), self._lock:
            if not self.has(ref):
                raise UnknownWorldError(no_ref(ref))
            turns: list[turn_records.Turn] = []
            while (turn := self._turn(ref)) is not None:
                turns.append(turn)
                ref = turn.parent
            return turns[::-1]

    def remove(self, world_id: str) -> None:
        with self._failures(), self._lock, self._writing():
            self.world(world_id)
            self._db.execute("DELETE FROM worlds WHERE id=?", (world_id,))
            self._db.execute("DELETE FROM held WHERE world=?", (world_id,))
            self._db.execute("DELETE FROM failures WHERE world=?", (world_id,))
            self._sweep()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _sweep(self) -> None:
        """Removes turns, states and blobs that no world needs any more."""
        self._db.execute(
            """CREATE TEMP TABLE needed AS
            WITH RECURSIVE needed(ref) AS (
                SELECT ref FROM held UNION SELECT turns.parent FROM turns JOIN needed USING (ref)
            ) SELECT ref FROM needed"""
        )
        self._db.execute("DELETE FROM turns WHERE ref NOT IN (SELECT ref FROM needed)")
        self._db.execute("DELETE FROM states WHERE ref NOT IN (SELECT ref FROM needed)")
        self._db.execute("DROP TABLE needed")
        used: set[BlobId] = set()
        for (record,) in self._db.execute("SELECT record FROM turns"):
            used |= turn_records.Turn.from_line(record).blobs()
        for (record,) in self._db.execute("SELECT record FROM failures"):
            used |= exchange_records.FailedStep.from_json(json.loads(record)).blobs()
        for (state,) in self._db.execute("SELECT state FROM states"):
            used |= WorldState.from_json(json.loads(zlib.decompress(state))).blobs()
        for (name,) in self._db.execute("SELECT id FROM blobs").fetchall():
            if name not in used:
                self._db.execute("DELETE FROM blobs WHERE id=?", (name,))

    def _turn(self, ref: WorldRef) -> turn_records.Turn | None:
        row = self._db.execute("SELECT record FROM turns WHERE ref=?", (ref,)).fetchone()
        return None if row is None else turn_records.Turn.from_line(row[0])

    def _hold(self, world_id: str, ref: WorldRef) -> None:
        self._db.execute("INSERT OR IGNORE INTO held VALUES (?,?)", (world_id, ref))

    def _put_state(self, ref: WorldRef, state: WorldState) -> None:
        packed = zlib.compress(canonical_json(state.to_json()).encode(), 1)
        self._db.execute("INSERT OR IGNORE INTO states VALUES (?,?)", (ref, packed))

    def _put_blobs(self, blobs: Mapping[BlobId, bytes]) -> None:
        if blobs:
            self._db.executemany(
                "INSERT OR IGNORE INTO blobs VALUES (?,?,?)",
                ((name, *_packed(data)) for name, data in blobs.items()),
            )

    def get_blob(self, blob: BlobId) -> bytes:
        with self._failures(), self._lock:
            row = self._db.execute("SELECT packed, data FROM blobs WHERE id=?", (blob,)).fetchone()
        if row is None:
            raise KeyError(blob)
        return zlib.decompress(row[1]) if row[0] else row[1]

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


def _packed(data: bytes) -> tuple[bool, bytes]:
    """`data` as stored: compressed when that saves space."""
    if len(data) < WORTH_PACKING:
        return False, data
    packed = zlib.compress(data, 1)
    return (True, packed) if len(packed) < len(data) else (False, data)


def _record(row: tuple[str, str, str, str, str, str, int]) -> WorldRecord:
    world_id, root, head, scenario, created, forked_from, turns = row
    return WorldRecord(
        id=world_id,
        root=root,
        head=head,
        scenario=scenario,
        created=created,
        forked_from=forked_from,
        turns=turns,
    )


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
