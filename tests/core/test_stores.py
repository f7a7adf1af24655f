"""One suite for every store."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentworld_sim import (
    Action,
    FileEntry,
    FileTree,
    MemoryStore,
    Observation,
    SqliteStore,
    StateChange,
    StoreError,
    ToolCall,
    Turn,
    UnknownWorldError,
    UsageError,
    WorldState,
    WorldStore,
)
from agentworld_sim.state import WorldRecord, blob_id
from agentworld_sim.state._records import SNAPSHOT_EVERY

ROOT = "a" * 40
EMPTY = WorldState(files=FileTree.from_entries([]), clock_us=0, seed=1)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorldStore]:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "w.sqlite")
    yield made
    made.close()


def add_world(store: WorldStore, world_id: str = "w", head: str = ROOT) -> None:
    record = WorldRecord(id=world_id, root=ROOT, head=head, scenario='{"name": "x"}')
    store.create(record, EMPTY, {})


def turn_after(parent: str, text: str, data: bytes = b"") -> tuple[Turn, dict[str, bytes]]:
    name = blob_id(data)
    change = StateChange(
        clock_us=7, files={f"/{text}": FileEntry("file", content=name, size=len(data))}
    )
    turn = Turn(
        parent=parent,
        call=ToolCall("t", {"text": text}),
        action=Action(text),
        observation=Observation(text=text),
        change=change,
    )
    return turn, {name: data}


def commit(store: WorldStore, text: str, world_id: str = "w", parent: str | None = None) -> Turn:
    parent = parent or store.world(world_id).head
    turn, blobs = turn_after(parent, text, text.encode())
    after = store.state(parent).after(turn.change)
    assert store.commit(world_id, turn, after, blobs, must_move_head=False)
    return turn


def test_a_new_world_stands_at_its_root(store: WorldStore) -> None:
    add_world(store)
    assert store.world("w").head == ROOT
    assert store.state(ROOT) == EMPTY
    assert store.lineage(ROOT) == []


def test_a_commit_moves_the_head_and_keeps_turn_state_and_blobs(store: WorldStore) -> None:
    add_world(store)
    turn = commit(store, "one")
    assert store.world("w").head == turn.ref
    assert store.world("w").turns == 1
    assert store.lineage(turn.ref) == [turn]
    assert store.state(turn.ref) == EMPTY.after(turn.change)
    assert store.blobs.get(blob_id(b"one")) == b"one"


def test_a_turn_on_an_older_point_is_a_branch_and_leaves_the_head(store: WorldStore) -> None:
    add_world(store)
    head = commit(store, "one")
    branch = commit(store, "two", parent=ROOT)
    assert store.world("w").head == head.ref
    assert store.lineage(branch.ref) == [branch]


def test_a_commit_that_must_move_the_head_stores_nothing_when_it_cannot(store: WorldStore) -> None:
    add_world(store)
    commit(store, "one")
    late, blobs = turn_after(ROOT, "late")
    assert not store.commit("w", late, EMPTY.after(late.change), blobs, must_move_head=True)
    assert not store.has(late.ref)


def test_an_abandoned_commit_stores_nothing(store: WorldStore) -> None:
    add_world(store)
    turn, blobs = turn_after(ROOT, "one", b"data")
    given_up = store.commit("w", turn, EMPTY, blobs, must_move_head=True, abandoned=lambda: True)
    assert not given_up
    assert store.world("w").head == ROOT
    assert not store.has(turn.ref)
    with pytest.raises(KeyError):
        store.blobs.get(blob_id(b"data"))


def test_every_point_of_a_long_history_can_be_read(store: WorldStore) -> None:
    add_world(store)
    state, expected = EMPTY, [(ROOT, EMPTY)]
    for number in range(2 * SNAPSHOT_EVERY + 3):
        turn = commit(store, f"t{number}")
        state = state.after(turn.change)
        expected.append((turn.ref, state))
    assert all(store.state(ref) == at for ref, at in expected)


def test_a_taken_id_is_refused(store: WorldStore) -> None:
    add_world(store)
    with pytest.raises(UsageError, match="'w' exists already"):
        add_world(store)


def test_an_unknown_world_is_answered_with_the_nearest_id(store: WorldStore) -> None:
    add_world(store, "website")
    with pytest.raises(UnknownWorldError, match=r"no world 'webside'.*Did you mean 'website'"):
        store.world("webside")


def test_an_unknown_ref_says_what_a_ref_is(store: WorldStore) -> None:
    for ask in (store.state, store.lineage):
        with pytest.raises(UnknownWorldError, match="no point 'bbb"):
            ask("b" * 40)


def test_removing_a_world_keeps_what_its_forks_need(store: WorldStore) -> None:
    add_world(store)
    shared = commit(store, "shared")
    add_world(store, "fork", head=shared.ref)
    only_fork = commit(store, "mine", "fork", parent=shared.ref)
    commit(store, "gone")
    store.remove("w")
    assert [record.id for record in store.worlds()] == ["fork"]
    assert [turn.call.arguments["text"] for turn in store.lineage(only_fork.ref)] == [
        "shared",
        "mine",
    ]
    assert store.blobs.get(blob_id(b"shared")) == b"shared"


def test_sqlite_forgets_what_nobody_needs(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "w.sqlite")
    add_world(store)
    gone = commit(store, "gone")
    store.remove("w")
    assert not store.has(gone.ref)
    with pytest.raises(KeyError):
        store.blobs.get(blob_id(b"gone"))
    store.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.lists(st.sampled_from(["a", "b", "c", "back"]), max_size=8))
def test_both_stores_give_the_same_histories(tmp_path: Path, moves: list[str]) -> None:
    path = tmp_path / "both.sqlite"
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    sqlite, memory = SqliteStore(path), MemoryStore()
    for store in (sqlite, memory):
        add_world(store)
        for move in moves:
            commit(store, move, parent=ROOT if move == "back" else None)
    head = memory.world("w").head
    assert sqlite.world("w").head == head
    assert sqlite.lineage(head) == memory.lineage(head)
    assert sqlite.state(head) == memory.state(head)
    sqlite.close()


def test_a_reopened_store_has_everything(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    first = SqliteStore(path)
    add_world(first)
    turn = commit(first, "one")
    first.close()
    second = SqliteStore(path)
    assert second.lineage(second.world("w").head) == [turn]
    second.close()


def test_of_many_writers_one_wins_each_turn(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    opener = SqliteStore(path)
    add_world(opener)
    won: list[bool] = []

    def write(name: str) -> None:
        store = SqliteStore(path)
        turn, blobs = turn_after(ROOT, name)
        won.append(store.commit("w", turn, EMPTY.after(turn.change), blobs, must_move_head=True))
        store.close()

    threads = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]
    assert opener.world("w").turns == 1
    opener.close()


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
        (_newer, "has version 99; this release reads up to 3"),
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
        store.commit("w", turn, EMPTY, blobs, must_move_head=True)
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
