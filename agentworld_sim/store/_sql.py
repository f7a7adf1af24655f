"""What the stores in databases have in common: their SQL, but for what a dialect says in its own way.

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, LiteralString, TypeVar

from agentworld_sim.errors import UnknownWorldError, UsageError
from agentworld_sim.ports.stores import WorldRecord, id_taken, no_ref, no_world
from agentworld_sim.store._records import (
    COLUMNS,
    NEIGHBOURS,
    failure_owner,
    fold_turns,
    in_order,
    pack_state,
)

# The modules, not their names: they are built on this package and may still be loading.
from agentworld_sim.types import exchanges as exchange_records
from agentworld_sim.types import turns as turn_records
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef

if TYPE_CHECKING:
    from agentworld_sim.types.files import BlobId
    from agentworld_sim.types.state import WorldState

T = TypeVar("T")

Database = Any
"""A connection: its `execute` takes a statement and parameters, and gives a cursor."""

SWEEP_BATCH = 500
"""Points in one transaction of the sweep."""


@dataclass(frozen=True, slots=True)
class Queries:
    """SQL for one database. Parameters stand in the order that is told."""

    fold: LiteralString
    """(ref): stored state or NULL, record or NULL; the row with the state first, then turn by turn."""
    lineage: LiteralString
    """(ref): records of all turns that lead to it, in any order."""
    has: LiteralString
    """(ref, ref)"""
    holds: LiteralString
    """(world, ref)"""
    inherits: LiteralString
    """(world, ref): whether the point lies before all that the world holds itself."""
    asked: LiteralString
    """(world, batch): call and record, oldest first."""
    ids_before: LiteralString
    """(id, limit)"""
    ids_after: LiteralString
    """(id, limit)"""
    any_expired: LiteralString
    """(now)"""
    expired: LiteralString
    """(now): as `any_expired`, for those who remove them."""
    doom: tuple[LiteralString, ...]
    """(world) each."""
    doom_failures: LiteralString
    """(owner)"""
    take: LiteralString
    """(limit): marks the next batch of doomed points. Nothing marked: nothing left."""
    sweep: tuple[LiteralString, ...]
    """Removes what is marked and not needed. No parameters."""
    world: LiteralString
    """(id): its columns."""
    worlds: LiteralString
    """Those of all, oldest first."""
    lock_world: LiteralString
    """(id): 1 if there is one, which nobody else changes until the transaction ends."""
    lock_turn: LiteralString
    """(ref): 1 if there is one, which nobody else removes until then."""
    add_world: LiteralString
    """(its columns): adds it if its id is free."""
    remove_world: LiteralString
    """(id)"""
    move: LiteralString
    """(ref, ref, world): moves the head, and says how many turns lead to it."""
    extend: LiteralString
    """(moment, world)"""
    hold: LiteralString
    """(world, ref)"""
    put_state: LiteralString
    """(ref, state)"""
    blob: LiteralString
    """(id): whether it is packed, and its bytes."""
    add_failure: LiteralString
    """(world, record)"""
    failures: LiteralString
    """(world): records, oldest first."""


def queries(
    prefix: LiteralString,
    mark: LiteralString,
    text: LiteralString,
    number: LiteralString,
    *,
    to_change: LiteralString = "",
    to_keep: LiteralString = "",
) -> Queries:
    """The SQL for one database.

    Args:
        prefix: What the names of its tables begin with.
        mark: A parameter.
        text: A parameter whose type cannot be seen from what stands around it: the text of a ref.
        number: The column that tells in which order rows came.
        to_change: What follows a SELECT of rows that nobody else may change or remove meanwhile.
        to_keep: What follows one of rows that nobody else may remove.
    """
    turns, held, states = f"{prefix}turns", f"{prefix}held", f"{prefix}states"
    merges = f"{prefix}merges"
    # All parents of a turn `t`; `m` has a row only where there are several.
    parent = "COALESCE(m.parent, t.parent)"
    uses, blobs, doomed = f"{prefix}uses", f"{prefix}blobs", f"{prefix}doomed"
    worlds, failures, origins = f"{prefix}worlds", f"{prefix}failures", f"{prefix}origins"
    return Queries(
        fold=f"""WITH RECURSIVE chain (ref, step) AS (
                SELECT {text}, 0
                UNION ALL
                SELECT t.parent, chain.step + 1 FROM chain JOIN {turns} t ON t.ref = chain.ref
                WHERE NOT EXISTS (SELECT 1 FROM {states} s WHERE s.ref = chain.ref)
            )
            SELECT s.state, CASE WHEN s.ref IS NULL THEN t.record END FROM chain
            LEFT JOIN {states} s ON s.ref = chain.ref LEFT JOIN {turns} t ON t.ref = chain.ref
            ORDER BY chain.step DESC""",
        lineage=f"""WITH RECURSIVE past (ref) AS (
                SELECT {text}
                UNION
                SELECT {parent} FROM past JOIN {turns} t ON t.ref = past.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
            )
            SELECT t.record FROM past JOIN {turns} t ON t.ref = past.ref""",
        has=f"""SELECT 1 FROM {turns} WHERE ref = {mark}
            UNION ALL SELECT 1 FROM {states} WHERE ref = {mark}""",
        holds=f"SELECT 1 FROM {held} WHERE world = {mark} AND ref = {mark}",
        inherits=f"""WITH RECURSIVE past (ref) AS (
                SELECT {parent} FROM {held} h JOIN {turns} t ON t.ref = h.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
                WHERE h.world = {mark} AND NOT EXISTS (
                    SELECT 1 FROM {held} p WHERE p.world = h.world AND p.ref = {parent}
                )
                UNION
                SELECT {parent} FROM past JOIN {turns} t ON t.ref = past.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
            )
            SELECT 1 FROM past WHERE ref = {mark}""",
        asked=f"""SELECT o.call, t.record FROM {origins} o JOIN {turns} t ON t.ref = o.ref
            WHERE o.world = {mark} AND o.batch = {mark} ORDER BY o.{number}""",
        ids_before=f"SELECT id FROM {worlds} WHERE id < {mark} ORDER BY id DESC LIMIT {mark}",
        ids_after=f"SELECT id FROM {worlds} WHERE id > {mark} ORDER BY id LIMIT {mark}",
        any_expired=f"SELECT id FROM {worlds} WHERE expires > 0 AND expires <= {mark}",
        expired=f"SELECT id FROM {worlds} WHERE expires > 0 AND expires <= {mark}{to_change}",
        doom=(
            f"""INSERT INTO {doomed} (ref, depth)
                SELECT h.ref, COALESCE(t.depth, 0) FROM {held} h
                LEFT JOIN {turns} t ON t.ref = h.ref WHERE h.world = {mark}
                ON CONFLICT (ref) DO NOTHING""",
            f"DELETE FROM {held} WHERE world = {mark}",
            f"DELETE FROM {failures} WHERE world = {mark}",
            f"DELETE FROM {origins} WHERE world = {mark}",
        ),
        doom_failures=f"""INSERT INTO {doomed} (ref, depth) VALUES ({mark}, -1)
            ON CONFLICT (ref) DO NOTHING""",
        take=f"""UPDATE {doomed} SET stage = 1 WHERE ref IN (
                SELECT ref FROM {doomed} ORDER BY depth DESC LIMIT {mark}
            )""",
        sweep=(
            # A point is needed if a world holds it, or if a turn follows that stays.
            f"""UPDATE {doomed} SET stage = 2 WHERE stage = 1 AND ref IN (
                WITH RECURSIVE needed (ref) AS (
                    SELECT d.ref FROM {doomed} d WHERE d.stage = 1 AND (
                        EXISTS (SELECT 1 FROM {held} h WHERE h.ref = d.ref)
                        OR EXISTS (
                            SELECT 1 FROM {turns} t WHERE t.parent = d.ref AND NOT EXISTS (
                                SELECT 1 FROM {doomed} c WHERE c.ref = t.ref AND c.stage = 1
                            )
                        )
                        OR EXISTS (
                            SELECT 1 FROM {merges} m WHERE m.parent = d.ref AND NOT EXISTS (
                                SELECT 1 FROM {doomed} c WHERE c.ref = m.ref AND c.stage = 1
                            )
                        )
                    )
                    UNION
                    SELECT d.ref FROM needed n JOIN {turns} t ON t.ref = n.ref
                    LEFT JOIN {merges} m ON m.ref = t.ref
                    JOIN {doomed} d ON d.ref = {parent} AND d.stage = 1
                ) SELECT ref FROM needed
            )""",
            # What lies before a fork is held by nobody else once the fork is gone.
            f"""INSERT INTO {doomed} (ref, depth)
                SELECT {parent}, t.depth - 1 FROM {doomed} d JOIN {turns} t ON t.ref = d.ref
                LEFT JOIN {merges} m ON m.ref = t.ref
                WHERE d.stage = 1 ON CONFLICT (ref) DO NOTHING""",
            # A cross join, because SQLite keeps its order: the batch is small, the uses are many.
            f"""DELETE FROM {blobs} WHERE id IN (
                    SELECT u.blob FROM {doomed} d CROSS JOIN {uses} u
                    WHERE d.stage = 1 AND u.owner = d.ref
                ) AND NOT EXISTS (
                    SELECT 1 FROM {uses} u WHERE u.blob = {blobs}.id AND NOT EXISTS (
                        SELECT 1 FROM {doomed} d WHERE d.ref = u.owner AND d.stage = 1
                    )
                )""",
            f"DELETE FROM {uses} WHERE owner IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {states} WHERE ref IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {turns} WHERE ref IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {merges} WHERE ref IN (SELECT ref FROM {doomed} WHERE stage = 1)",
            f"DELETE FROM {doomed} WHERE stage > 0",
        ),
        world=f"SELECT {COLUMNS} FROM {worlds} WHERE id = {mark}",
        worlds=f"SELECT {COLUMNS} FROM {worlds} ORDER BY {number}",
        lock_world=f"SELECT 1 FROM {worlds} WHERE id = {mark}{to_change}",
        lock_turn=f"SELECT 1 FROM {turns} WHERE ref = {mark}{to_keep}",
        add_world=f"""INSERT INTO {worlds} ({COLUMNS})
            VALUES ({mark}, {mark}, {mark}, {mark}, {mark}, {mark}, {mark}, {mark}) ON CONFLICT (id) DO NOTHING""",
        remove_world=f"DELETE FROM {worlds} WHERE id = {mark}",
        move=f"""UPDATE {worlds} SET head = {mark},
            turns = COALESCE((SELECT depth FROM {turns} WHERE ref = {mark}), 0) WHERE id = {mark}""",
        extend=f"UPDATE {worlds} SET expires = {mark} WHERE id = {mark}",
        hold=f"INSERT INTO {held} VALUES ({mark}, {mark}) ON CONFLICT (world, ref) DO NOTHING",
        put_state=f"INSERT INTO {states} VALUES ({mark}, {mark}) ON CONFLICT (ref) DO NOTHING",
        blob=f"SELECT packed, data FROM {blobs} WHERE id = {mark}",
        add_failure=f"INSERT INTO {failures} (world, record) VALUES ({mark}, {mark})",
        failures=f"SELECT record FROM {failures} WHERE world = {mark} ORDER BY {number}",
    )


class SqlStore(ABC):
    """Implements the part of `WorldStore` that every database does alike."""

    blocking = True
    _sql: Queries

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
            if not begins and not db.execute(self._sql.lock_turn, (record.head,)).fetchone():
                raise UnknownWorldError(no_ref(record.head))
            if not db.execute(self._sql.add_world, row).rowcount:
                raise UsageError(id_taken(record.id))
            self._put_blobs(db, blobs)
            db.execute(self._sql.hold, (record.id, record.head))
            db.execute(self._sql.put_state, (record.head, snapshot))
            if begins:
                self._use(db, record.root, state.blobs())

        self._write(work)

    def world(self, world_id: str) -> WorldRecord:
        return self._read(lambda db: self._world(db, world_id))

    def worlds(self) -> list[WorldRecord]:
        return [
            self._record(row)
            for row in self._read(lambda db: db.execute(self._sql.worlds).fetchall())
        ]

    def asked(self, world_id: str, batch: str) -> list[tuple[str, turn_records.Turn]]:
        rows = self._read(lambda db: db.execute(self._sql.asked, (world_id, batch)).fetchall())
        return [(call, self._turn(record)) for call, record in rows]

    def rewind(self, world_id: str, ref: WorldRef) -> WorldRecord:
        def work(db: Database) -> WorldRecord:
            self._lock_world(db, world_id)
            place = (world_id, ref)
            if not (
                db.execute(self._sql.holds, place).fetchone()
                or db.execute(self._sql.inherits, place).fetchone()
            ):
                raise UnknownWorldError(no_ref(ref, world_id))
            db.execute(self._sql.move, (ref, ref, world_id))
            return self._world(db, world_id)

        return self._write(work)

    def extend(self, world_id: str, expires: float) -> None:
        def work(db: Database) -> None:
            if not db.execute(self._sql.extend, (expires, world_id)).rowcount:
                raise self._unknown(db, world_id)

        self._write(work)

    def add_failure(
        self, world_id: str, failed: exchange_records.FailedStep, blobs: Mapping[BlobId, bytes]
    ) -> None:
        record = self._to_column(canonical_json(failed.to_json()))

        def work(db: Database) -> None:
            self._lock_world(db, world_id)
            self._put_blobs(db, blobs)
            self._use(db, failure_owner(world_id), failed.blobs())
            db.execute(self._sql.add_failure, (world_id, record))

        self._write(work)

    def failures(self, world_id: str) -> list[exchange_records.FailedStep]:
        def work(db: Database) -> list[Any]:
            self._world(db, world_id)
            return db.execute(self._sql.failures, (world_id,)).fetchall()

        rows = self._read(work)
        return [
            exchange_records.FailedStep.from_json(json.loads(self._from_column(record)))
            for (record,) in rows
        ]

    def has(self, ref: WorldRef) -> bool:
        return self._read(lambda db: db.execute(self._sql.has, (ref, ref)).fetchone()) is not None

    def state(self, ref: WorldRef) -> WorldState:
        rows = self._read(lambda db: db.execute(self._sql.fold, (ref,)).fetchall())
        if rows[0][0] is None:
            raise UnknownWorldError(no_ref(ref))
        return fold_turns(rows[0][0], (self._from_column(record) for _, record in rows[1:]))

    def lineage(self, ref: WorldRef) -> list[turn_records.Turn]:
        rows = self._read(lambda db: db.execute(self._sql.lineage, (ref,)).fetchall())
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
        if not self._read(lambda db: db.execute(self._sql.any_expired, (now,)).fetchone()):
            return []

        def work(db: Database) -> list[str]:
            expired = [found for (found,) in db.execute(self._sql.expired, (now,)).fetchall()]
            for world_id in expired:
                self._doom(db, world_id)
            return expired

        expired = self._write(work)
        self._sweep()
        return expired

    def _doom(self, db: Database, world_id: str) -> None:
        for statement in self._sql.doom:
            db.execute(statement, (world_id,))
        db.execute(self._sql.doom_failures, (failure_owner(world_id),))
        db.execute(self._sql.remove_world, (world_id,))

    def _sweep(self) -> None:
        """Removes turns, states and blobs that no world needs any more."""

        def batch(db: Database) -> int:
            taken: int = db.execute(self._sql.take, (SWEEP_BATCH,)).rowcount
            for statement in self._sql.sweep if taken else ():
                db.execute(statement)
            return taken

        while self._write(batch, sweeps=True):
            pass

    def _world(self, db: Database, world_id: str) -> WorldRecord:
        row = db.execute(self._sql.world, (world_id,)).fetchone()
        if row is None:
            raise self._unknown(db, world_id)
        return self._record(row)

    def _lock_world(self, db: Database, world_id: str) -> None:
        if not db.execute(self._sql.lock_world, (world_id,)).fetchone():
            raise self._unknown(db, world_id)

    def _unknown(self, db: Database, world_id: str) -> UnknownWorldError:
        known = [
            found
            for query in (self._sql.ids_before, self._sql.ids_after)
            for (found,) in db.execute(query, (world_id, NEIGHBOURS)).fetchall()
        ]
        return UnknownWorldError(no_world(world_id, known))

    def _record(self, row: tuple[Any, ...]) -> WorldRecord:
        values: dict[str, Any] = dict(zip(COLUMNS.split(", "), row, strict=True))
        values["scenario"] = self._from_column(values["scenario"])
        return WorldRecord(**values)

    def _turn(self, record: Any) -> turn_records.Turn:
        return turn_records.Turn.from_line(self._from_column(record))
