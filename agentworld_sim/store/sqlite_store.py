"""Worlds in one SQLite file, shared by any number of processes.

Durability: write-ahead log with `synchronous=NORMAL`. A process that is killed loses nothing that was
committed; a machine that loses power may lose the last turns, and never the file's integrity.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from agentworld_sim.errors import StoreError, UnknownWorldError
from agentworld_sim.ports.stores import Origin, no_ref
from agentworld_sim.store._sql import (
    SNAPSHOT_EVERY,
    Database,
    SqlStore,
    load_statements,
    pack,
    pack_state,
    unpack,
)
from agentworld_sim.types.files import BlobId, Blobs, blob_id
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.turns import Turn

T = TypeVar("T")

STORE_VERSION = 5
"""Of the file's layout. A file with a higher one was written by a newer release."""

BUSY_MS = 30_000
"""How long one process waits for another's write."""

MODE_SECONDS = 0.01
"""Between two tries to change the mode of a new file."""

_IN_SQLITE = {
    "agentworld_": "",
    '%s::text COLLATE "C"': "?",
    "%s": "?",
    "number": "rowid",
    " FOR NO KEY UPDATE": "",
    " FOR KEY SHARE": "",
}
"""What SQLite has instead of PostgreSQL's words: one writer at a time, and a file of one's own."""


@cache
def _statements() -> dict[str, str]:
    found = load_statements("queries.sql")
    for words, ours in _IN_SQLITE.items():
        found = {name: text.replace(words, ours) for name, text in found.items()}
    return {**found, **load_statements("sqlite.sql")}


class SqliteStore(SqlStore):
    """Implements `WorldStore` in one file."""

    def __init__(self, path: Path | str) -> None:
        """Opens or creates the store.

        Raises:
            StoreError: the file is not a store, is damaged, is from a newer release, or cannot be
                written. It is left as it is.
        """
        self._sql = _statements()
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
        version = self._one("PRAGMA user_version")[0]
        if version > STORE_VERSION:
            raise StoreError(
                f"the store {self.path} has version {version}; this release reads up to"
                f" {STORE_VERSION}. Upgrade agentworld-sim, or point AGENTWORLD_HOME elsewhere."
            )
        if 0 < version < STORE_VERSION:
            raise StoreError(
                f"the store {self.path} has version {version}, of before the first release, and this"
                f" release reads {STORE_VERSION}. Nothing was changed; move the file away to start afresh."
            )
        # Asked again after the tables: another process may be making this very store.
        if (
            not version
            and self._one("SELECT 1 FROM sqlite_master")
            and not self._one("PRAGMA user_version")[0]
        ):
            raise StoreError(
                f"{self.path} is an SQLite file of something else. Nothing was changed; point"
                " AGENTWORLD_HOME at another folder."
            )
        self._write_ahead()
        self._db.execute("PRAGMA synchronous=NORMAL")
        if not version:
            with self._writing():
                self._make_tables()

    def _make_tables(self) -> None:
        # Another process may have made them meanwhile.
        if not self._one("PRAGMA user_version")[0]:
            # Not `executescript`, which would commit.
            for statement in self._sql["tables"].split(";\n"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version={STORE_VERSION}")

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

    def _read(self, work: Callable[[Database], T]) -> T:
        with self._failures(), self._lock:
            return work(self._db)

    def _write(self, work: Callable[[Database], T], *, sweeps: bool = False) -> T:
        with self._failures(), self._lock, self._writing():
            return work(self._db)

    def commit(
        self,
        world_id: str,
        turn: Turn,
        state: WorldState,
        blobs: Mapping[BlobId, bytes],
        *,
        must_move_head: bool,
        abandoned: Callable[[], bool] = lambda: False,
        origin: Origin | None = None,
    ) -> bool:
        with self._failures(), self._lock, self._writing() as rollback:
            # Not the whole record, in which the scenario is.
            head = self._one("SELECT head FROM worlds WHERE id=?", world_id)
            if head is None:
                raise self._unknown(self._db, world_id)
            moves = head[0] in turn.parents
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
                self._put_blobs(self._db, blobs)
                self._use(self._db, turn.ref, turn.blobs())
            if turn.merged:
                depth = self._depth(turn.ref)
            self._db.execute(self._sql["hold"], (world_id, turn.ref))
            if origin is not None:
                self._db.execute(
                    "INSERT INTO origins VALUES (?,?,?,?)",
                    (world_id, origin.batch, origin.call, turn.ref),
                )
            if depth % SNAPSHOT_EVERY == 0:
                self._db.execute(self._sql["put_state"], (turn.ref, pack_state(state)))
            if moves:
                self._db.execute(self._sql["move"], (turn.ref, turn.ref, world_id))
            if abandoned():
                rollback()
                return False
        return True

    def without_waiting(self, work: Callable[[], T]) -> T | None:
        """What `work` on this store gives; `None`, and nothing is done, where it would have to wait for others."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            with self._failures():
                self._db.execute("PRAGMA busy_timeout=0")
                try:
                    return work()
                finally:
                    self._db.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        except StoreError as error:
            # The lower byte: the others say why it is busy.
            if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                return None
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _one(self, query: str, *values: object) -> Any:
        return self._db.execute(query, values).fetchone()

    def _depth(self, ref: WorldRef) -> int:
        row = self._one("SELECT depth FROM turns WHERE ref=?", ref)
        if row is not None:
            return row[0]
        if not self._one("SELECT 1 FROM states WHERE ref=?", ref):
            raise UnknownWorldError(no_ref(ref))
        return 0

    def _note_merge(self, turn: Turn) -> None:
        if not turn.merged:
            return
        for parent in turn.merged:
            self._depth(parent)
        self._db.executemany(
            "INSERT INTO merges VALUES (?,?)", [(turn.ref, parent) for parent in turn.parents]
        )
        depth = len(self._db.execute(self._sql["lineage"], (turn.ref,)).fetchall())
        self._db.execute("UPDATE turns SET depth=? WHERE ref=?", (depth, turn.ref))

    def put_blob(self, data: bytes) -> BlobId:
        name = blob_id(data)
        self._write(lambda db: self._put_blobs(db, {name: data}))
        return name

    def get_blob(self, blob: BlobId) -> bytes:
        row = self._read(lambda db: db.execute(self._sql["blob"], (blob,)).fetchone())
        if row is None:
            raise KeyError(blob)
        return unpack(*row)

    def _put_blobs(self, db: Database, blobs: Mapping[BlobId, bytes]) -> None:
        if blobs:
            db.executemany(
                "INSERT OR IGNORE INTO blobs VALUES (?,?,?)",
                ((name, *pack(data)) for name, data in blobs.items()),
            )

    def _use(self, db: Database, owner: str, blobs: set[BlobId]) -> None:
        db.executemany("INSERT OR IGNORE INTO uses VALUES (?,?)", ((owner, one) for one in blobs))

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
            raise StoreError(_explain(error, self.path)) from error
        except OSError as error:
            raise StoreError(
                f"cannot use {self.path} as a store: {error.strerror}. Point AGENTWORLD_HOME at a"
                " folder that can be written."
            ) from error


class _SqliteBlobs:
    def __init__(self, store: SqliteStore) -> None:
        self.put, self.get = store.put_blob, store.get_blob


def _explain(error: sqlite3.Error, path: Path) -> str:
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
