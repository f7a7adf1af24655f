"""The SQLite store: its file, and older ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_sim import SqliteStore, StoreError
from agentworld_sim.store._records import packed, packed_state
from agentworld_sim.types import blob_id
from agentworld_sim.types.json import canonical_json
from tests.store.stores_suite import (
    ROOT,
    SHARED,
    START,
    add_world,
    commit,
    failed_step,
    has_blob,
    turn_after,
)


def _damaged(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4000)


def _foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE other (x)")
    db.close()


def _newer(path: Path) -> None:
    SqliteStore(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_damaged, "is damaged or is no store"),
        (_foreign, "is an SQLite file of something else"),
        (_newer, "has version 99; this release reads up to 5"),
    ],
)
def test_a_file_that_is_no_store_of_ours_is_refused_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "w.sqlite"
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=message):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_full_disk_stores_nothing_of_the_turn_and_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "w.sqlite")
    add_world(store)
    kept = commit(store, "kept")
    # SQLite answers a page limit with the very error of a full disk.
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]  # pyright: ignore[reportPrivateUsage]
    store._db.execute(f"PRAGMA max_page_count={pages}")  # pyright: ignore[reportPrivateUsage]
    turn, blobs = turn_after(kept.ref, "big", b"x" * 1_000_000)
    with pytest.raises(StoreError, match=r"disk that holds .* is full"):
        store.commit("w", turn, START, blobs, must_move_head=True)
    assert store.world("w").head == kept.ref
    assert not store.has(turn.ref)
    store._db.execute("PRAGMA max_page_count=1000000")  # pyright: ignore[reportPrivateUsage]
    assert commit(store, "after").parent == kept.ref
    store.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(StoreError, match="Point AGENTWORLD_HOME at"):
        SqliteStore(blocker / "w.sqlite")


_VERSION_2 = """
CREATE TABLE worlds (
    id TEXT PRIMARY KEY, root TEXT NOT NULL, head TEXT NOT NULL, scenario TEXT NOT NULL,
    created TEXT NOT NULL, forked_from TEXT NOT NULL, turns INTEGER NOT NULL
) STRICT;
CREATE TABLE turns (ref TEXT PRIMARY KEY, parent TEXT NOT NULL, record TEXT NOT NULL) STRICT;
CREATE TABLE held (world TEXT NOT NULL, ref TEXT NOT NULL, PRIMARY KEY (world, ref)) STRICT;
CREATE TABLE states (ref TEXT PRIMARY KEY, state BLOB NOT NULL) STRICT;
CREATE TABLE blobs (id TEXT PRIMARY KEY, packed INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE failures (world TEXT NOT NULL, record TEXT NOT NULL) STRICT;
PRAGMA user_version=2;
"""


def test_a_file_of_an_older_release_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    db = sqlite3.connect(path)
    db.executescript(_VERSION_2)
    first, first_blobs = turn_after(ROOT, "one", b"one")
    second, second_blobs = turn_after(first.ref, "two", b"two")
    for turn in (first, second):
        db.execute("INSERT INTO turns VALUES (?,?,?)", (turn.ref, turn.parent, turn.to_line()))
    blobs = {**first_blobs, **second_blobs}
    blobs |= dict([_named(SHARED), _named(b"said")])
    db.executemany("INSERT INTO blobs VALUES (?,?,?)", [(n, *packed(d)) for n, d in blobs.items()])
    db.execute("INSERT INTO states VALUES (?,?)", (ROOT, packed_state(START)))
    said = canonical_json(failed_step(b"said").to_json())
    for world_id, head, turns in (("w", second.ref, 2), ("fork", first.ref, 1)):
        world = (world_id, ROOT, head, "{}", "", "", turns)
        db.execute("INSERT INTO worlds VALUES (?,?,?,?,?,?,?)", world)
        db.execute("INSERT INTO held VALUES (?,?)", (world_id, head))
        db.execute("INSERT INTO failures VALUES (?,?)", (world_id, said))
    db.commit()
    db.close()

    store = SqliteStore(path)
    assert store.world("w").expires == 0.0
    assert store.asked("w", "00") == []
    assert store.lineage(second.ref) == [first, second]
    third = commit(store, "three")
    assert store.rewind("w", first.ref).turns == 1
    store.remove("w")
    assert store.has(first.ref) and not store.has(second.ref) and not store.has(third.ref)
    assert [has_blob(store, data) for data in (SHARED, b"one", b"two", b"said")] == [
        True,
        True,
        False,
        True,
    ]
    store.remove("fork")
    assert not any(has_blob(store, data) for data in (SHARED, b"one", b"said"))
    store.close()


def _named(data: bytes) -> tuple[str, bytes]:
    return blob_id(data), data
