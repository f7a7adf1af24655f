"""The SQLite store: its file, and older ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agentworld_sim import SqliteStore, StoreError
from tests.store.stores_suite import (
    START,
    add_world,
    commit,
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


def test_a_file_of_before_the_first_release_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("CREATE TABLE worlds (id TEXT); PRAGMA user_version=2;")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="has version 2, of before the first release"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_what_would_have_to_wait_for_others_is_not_done_and_not_waited_for(tmp_path: Path) -> None:
    store, other = (SqliteStore(tmp_path / "w.sqlite") for _ in range(2))
    add_world(store)
    turn, blobs = turn_after(store.world("w").root, "mine", b"x")

    def commit_turn() -> bool:
        return store.commit("w", turn, START, blobs, must_move_head=True)

    with other._writing():  # pyright: ignore[reportPrivateUsage]
        assert store.without_waiting(commit_turn) is None
        assert not store.has(turn.ref)
    assert store.without_waiting(commit_turn) is True
    assert other.world("w").head == turn.ref
    # Others are waited for again.
    assert store._db.execute("PRAGMA busy_timeout").fetchone() == (30_000,)  # pyright: ignore[reportPrivateUsage]
    store.close()
    other.close()
    with pytest.raises(StoreError):
        store.without_waiting(commit_turn)
