"""Worlds in a PostgreSQL database, shared by any number of processes and machines.

Durability is the server's: a turn that was answered is on its disk, unless the server is told
otherwise (`synchronous_commit`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from agentworld_sim.errors import StoreError, UnknownWorldError
from agentworld_sim.extras import require
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

if TYPE_CHECKING:
    from agentworld_sim.store._postgres_connections import Connections

T = TypeVar("T")

CONNECTIONS = 4
"""Of one process, at most. Servers let in about a hundred."""

KEPT_BLOB_BYTES = 32 * 1024 * 1024
"""Blobs that a process has read are kept up to this size: a machine that comes up reads them all."""


class PostgresStore(SqlStore):
    """Implements `WorldStore` in the tables `agentworld_…` of one database."""

    def __init__(self, url: str) -> None:
        """Connects, and makes the tables if there are none.

        Args:
            url: `postgresql://USER@HOST:PORT/DATABASE`, with any parameters of libpq. What it leaves
                out is taken from PGPASSWORD and the like, and from ~/.pgpass.

        Raises:
            UsageError: the URL cannot be read, or the package psycopg is not installed.
            StoreError: the server or the database cannot be used.
        """
        require("psycopg", extra="postgres")
        from agentworld_sim.store._postgres_connections import Connections, prepare

        self._sql = {**load_statements("queries.sql"), **load_statements("postgres.sql")}
        self._connections = Connections(url, CONNECTIONS)
        self.place = self._connections.place
        """The URL for people: without the password and the parameters."""
        self._blobs = _PostgresBlobs(self._connections, self._sql)
        try:
            self._connections.run(lambda db: prepare(db, self.place, self._sql), writes=True)
        except BaseException:
            self._connections.close()
            raise

    def __repr__(self) -> str:
        return f"PostgresStore({self.place!r})"

    @property
    def blobs(self) -> Blobs:
        return self._blobs

    def _read(self, work: Callable[[Database], T]) -> T:
        return self._connections.run(work, writes=False)

    def _write(self, work: Callable[[Database], T], *, sweeps: bool = False) -> T:
        def transaction(db: Database) -> T:
            with db.transaction():
                # While something is swept away nobody may begin to need it; readers are not stopped.
                db.execute(self._sql["close_gate" if sweeps else "share_gate"])
                return work(db)

        if sweeps:
            self._blobs.forget()
        return self._connections.run(transaction, writes=True)

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

        def work(db: Database) -> tuple[str, int]:
            # The one round trip below is the last moment.
            found = None if abandoned() else db.execute(self._sql["commit"], values).fetchone()
            outcome, depth = found or ("abandoned", 0)
            if outcome == "no world":
                raise self._unknown(db, world_id)
            return outcome, depth

        outcome, depth = self._connections.run(work, writes=True)
        if outcome == "no parent":
            missing = (one for one in turn.parents if not self.has(one))
            raise UnknownWorldError(no_ref(next(missing, turn.parent)))
        if outcome == "stored" and depth % SNAPSHOT_EVERY == 0:
            self._keep_snapshot(turn.ref, state)
        return outcome == "stored"

    def _keep_snapshot(self, ref: WorldRef, state: WorldState) -> None:
        data, statement = pack_state(state), self._sql["keep_snapshot"].encode()
        # The turn is stored, and its state can be folded from the one before.
        with suppress(StoreError):
            self._connections.run(lambda db: db.execute(statement, (data, ref)), writes=True)

    def close(self) -> None:
        self._connections.close()

    def _to_column(self, text: str) -> bytes:
        return text.encode()

    def _from_column(self, stored: bytes) -> str:
        return stored.decode()

    def _put_blobs(self, db: Database, blobs: Mapping[BlobId, bytes]) -> None:
        if blobs:
            db.execute(self._sql["put_blobs"], _columns(blobs))

    def _use(self, db: Database, owner: str, blobs: set[BlobId]) -> None:
        db.execute(self._sql["use"], (owner, sorted(blobs)))


class _PostgresBlobs:
    """The blobs, those read last in front."""

    def __init__(self, connections: Connections, statements: Mapping[str, str]) -> None:
        self._connections = connections
        self._put = statements["put_blobs"].encode()
        self._get = statements["blob"].encode()
        self._lock = threading.Lock()
        self._kept: OrderedDict[BlobId, bytes] = OrderedDict()
        self._size = 0

    def put(self, data: bytes) -> BlobId:
        name = blob_id(data)
        self._connections.run(lambda db: db.execute(self._put, _columns({name: data})), writes=True)
        return name

    def get(self, blob: BlobId) -> bytes:
        with self._lock:
            data = self._kept.get(blob)
            if data is not None:
                self._kept.move_to_end(blob)
                return data
        row = self._connections.run(
            lambda db: db.execute(self._get, (blob,), binary=True).fetchone(),
            writes=False,
        )
        if row is None:
            raise KeyError(blob)
        data = unpack(*row)
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
    stored = [pack(blobs[name]) for name in names]
    return names, [is_packed for is_packed, _ in stored], [data for _, data in stored]
