"""The layout of a store's SQLite file, and the way from older ones."""

from __future__ import annotations

import json
import sqlite3

from agentworld_sim.store._records import failure_owner, unpacked_state

# The modules, not their names: they are built on this package and may still be loading.
from agentworld_sim.types import exchanges as exchange_records
from agentworld_sim.types import turns as turn_records

STORE_VERSION = 5
"""Of the file's layout. A file with a higher one was written by a newer release."""

_FIRST = """
CREATE TABLE worlds (
    id TEXT PRIMARY KEY, root TEXT NOT NULL, head TEXT NOT NULL, scenario TEXT NOT NULL,
    created TEXT NOT NULL, forked_from TEXT NOT NULL, turns INTEGER NOT NULL
) STRICT;
CREATE TABLE turns (ref TEXT PRIMARY KEY, parent TEXT NOT NULL, record TEXT NOT NULL) STRICT;
CREATE TABLE held (world TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (world, ref)) STRICT;
CREATE TABLE states (ref TEXT PRIMARY KEY, state BLOB NOT NULL) STRICT;
CREATE TABLE blobs (id TEXT PRIMARY KEY, packed INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
"""

_SINCE_2 = "CREATE TABLE failures (world TEXT NOT NULL, record TEXT NOT NULL) STRICT;\n"

_SINCE_3 = """
ALTER TABLE worlds ADD COLUMN expires REAL NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN depth INTEGER NOT NULL DEFAULT 0;
CREATE TABLE uses (
    owner TEXT NOT NULL, blob TEXT NOT NULL, PRIMARY KEY (owner, blob)
) STRICT, WITHOUT ROWID;
CREATE TABLE doomed (
    ref TEXT PRIMARY KEY, depth INTEGER NOT NULL, stage INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_parent ON turns (parent);
CREATE INDEX held_ref ON held (ref);
CREATE INDEX uses_blob ON uses (blob);
CREATE INDEX doomed_depth ON doomed (depth);
CREATE INDEX doomed_stage ON doomed (stage);
CREATE INDEX failures_world ON failures (world);
CREATE INDEX worlds_expires ON worlds (expires) WHERE expires > 0;
"""

_SINCE_4 = """
CREATE TABLE origins (
    world TEXT NOT NULL, batch TEXT NOT NULL, call TEXT NOT NULL, ref TEXT NOT NULL
) STRICT;
CREATE INDEX origins_batch ON origins (world, batch);
"""

_SINCE_5 = """
CREATE TABLE merges (
    ref TEXT NOT NULL, parent TEXT NOT NULL, PRIMARY KEY (ref, parent)
) STRICT, WITHOUT ROWID;
CREATE INDEX merges_parent ON merges (parent);
"""


def version_of(db: sqlite3.Connection) -> int:
    """The layout's version; 0 for a file without one."""
    return db.execute("PRAGMA user_version").fetchone()[0]


def tables_of(db: sqlite3.Connection) -> int:
    """How many tables and indexes the file has."""
    return db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def bring_up(db: sqlite3.Connection) -> None:
    """Makes the tables, or changes older ones, inside of a transaction that the caller has begun."""
    version = version_of(db)
    if version == 0:
        _run(db, _FIRST)
    if version < 2:
        _run(db, _SINCE_2)
    if version < 3:
        _run(db, _SINCE_3)
        _note_depths(db)
        _note_uses(db)
    if version < 4:
        _run(db, _SINCE_4)
    if version < 5:
        _run(db, _SINCE_5)
        db.execute(f"PRAGMA user_version={STORE_VERSION}")


def _run(db: sqlite3.Connection, script: str) -> None:
    # Not `executescript`, which would commit.
    for statement in script.split(";\n"):
        db.execute(statement)


def _note_depths(db: sqlite3.Connection) -> None:
    parents: dict[str, list[str]] = {}
    known: set[str] = set()
    for ref, parent in db.execute("SELECT ref, parent FROM turns"):
        known.add(ref)
        parents.setdefault(parent, []).append(ref)
    level = [ref for parent, refs in parents.items() if parent not in known for ref in refs]
    depth = 1
    while level:
        db.executemany("UPDATE turns SET depth=? WHERE ref=?", [(depth, ref) for ref in level])
        level = [child for ref in level for child in parents.get(ref, ())]
        depth += 1


def _note_uses(db: sqlite3.Connection) -> None:
    """Notes which blobs turns, failures and roots need. A state needs no more than its turns do."""
    for (line,) in db.execute("SELECT record FROM turns"):
        turn = turn_records.Turn.from_line(line)
        add_uses(db, turn.ref, turn.blobs())
    for world, line in db.execute("SELECT world, record FROM failures"):
        failed = exchange_records.FailedStep.from_json(json.loads(line))
        add_uses(db, failure_owner(world), failed.blobs())
    for ref, state in db.execute(
        "SELECT ref, state FROM states s WHERE NOT EXISTS (SELECT 1 FROM turns WHERE ref = s.ref)"
    ):
        add_uses(db, ref, unpacked_state(state).blobs())


def add_uses(db: sqlite3.Connection, owner: str, blobs: set[str]) -> None:
    """Notes that `owner` needs these blobs."""
    db.executemany("INSERT OR IGNORE INTO uses VALUES (?,?)", ((owner, blob) for blob in blobs))
