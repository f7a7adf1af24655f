"""Base data: built once, shared, immutable, and whole or not there."""

from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agentworld_sim.errors import StoreError
from agentworld_sim.relational.base_data import BaseData, content_hash, open_base_data

RECIPE = "towns/1"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path))
    return tmp_path / "cache" / "base"


class Builder:
    """Writes the rows it is given, and counts."""

    def __init__(self, *towns: str) -> None:
        self.towns = towns or ("Aldmoor", "Brackwater")
        self.built = 0

    def __call__(self, connection: sqlite3.Connection) -> None:
        self.built += 1
        connection.execute("CREATE TABLE towns (id INTEGER PRIMARY KEY, name TEXT)")
        connection.executemany("INSERT INTO towns (name) VALUES (?)", [[t] for t in self.towns])
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(name)")
        connection.executemany("INSERT INTO words VALUES (?)", [[t] for t in self.towns])


def names(base: BaseData) -> list[str]:
    with base.reading() as connection:
        return [name for (name,) in connection.execute("SELECT name FROM towns ORDER BY id")]


def test_it_is_built_once_and_found_again_when_nobody_holds_it_any_more(own_cache: Path) -> None:
    build = Builder()
    base = open_base_data(RECIPE, build)
    content, path = base.content, base.path
    assert names(base) == ["Aldmoor", "Brackwater"]
    assert open_base_data(RECIPE, build) is base
    del base
    gc.collect()
    again = open_base_data(RECIPE, build, content=content)
    assert (again.content, again.path, build.built) == (content, path, 1)
    assert os.listdir(own_cache) == [path.name]


def test_another_recipe_has_a_file_of_its_own() -> None:
    one, other = open_base_data("a", Builder("X")), open_base_data("b", Builder("Y"))
    assert (names(one), names(other)) == (["X"], ["Y"])
    assert one.content != other.content


def test_nobody_can_write() -> None:
    base = open_base_data(RECIPE, Builder())
    with base.reading() as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM towns")


def test_many_threads_read_at_once() -> None:
    base = open_base_data(RECIPE, Builder())
    meeting = threading.Barrier(4)
    seen: list[list[str]] = []

    def read() -> None:
        with base.reading() as connection:
            meeting.wait()
            seen.append([name for (name,) in connection.execute("SELECT name FROM towns")])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["Aldmoor", "Brackwater"]] * 4


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "foreign", "other recipe"])
def test_a_file_that_is_not_whole_or_not_ours_is_built_again(damage: str) -> None:
    build = Builder()
    base = open_base_data(RECIPE, build)
    path, content = base.path, base.content
    del base
    gc.collect()
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-4096])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "text":
        path.write_text("no database, whatever it is called " * 200)
    else:
        if damage == "foreign":
            path.unlink()
        with sqlite3.connect(path) as other:
            sql = (
                "CREATE TABLE t (a)"
                if damage == "foreign"
                else "UPDATE about_base_data SET recipe = 'x'"
            )
            other.execute(sql)
        other.close()
    assert names(open_base_data(RECIPE, build, content=content)) == ["Aldmoor", "Brackwater"]
    assert build.built == 2


def test_damage_that_only_reading_shows_is_one_error_and_the_next_opening_builds_again() -> None:
    build = Builder(*(f"Town {number}" for number in range(5000)))
    base = open_base_data(RECIPE, build)
    data = bytearray(base.path.read_bytes())
    data[4096 * 3 : -4096 * 3] = b"\xff" * (len(data) - 4096 * 6)
    base.path.write_bytes(data)
    with pytest.raises(StoreError, match=r"is damaged: .* built again"):
        names(base)
    assert len(names(open_base_data(RECIPE, build))) == 5000
    assert build.built == 2


def test_a_recipe_that_gives_something_else_than_the_state_names_is_refused() -> None:
    first = open_base_data(RECIPE, Builder("X"))
    wanted = first.content
    with pytest.raises(
        StoreError, match=f"made with base data {'0' * 12}, and this release builds {wanted[:12]}"
    ):
        open_base_data(RECIPE, Builder("X"), content="0" * 64)
    # The file of an older release is no reason to give up.
    newer = open_base_data("r", Builder("new"))
    newer.path.write_bytes(first.path.read_bytes())
    wanted = newer.content
    del newer
    gc.collect()
    assert names(open_base_data("r", Builder("new"), content=wanted)) == ["new"]


def test_a_build_that_fails_leaves_nothing(own_cache: Path) -> None:
    def build(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE towns (name)")
        raise ValueError("no such town")

    with pytest.raises(ValueError, match="no such town"):
        open_base_data(RECIPE, build)
    assert os.listdir(own_cache) == []


def test_a_cache_that_cannot_be_written_is_one_error(own_cache: Path) -> None:
    own_cache.parent.mkdir(parents=True)
    own_cache.write_text("a file where a folder should be")
    with pytest.raises(StoreError, match=r"cannot be kept in .*AGENTWORLD_HOME"):
        open_base_data(RECIPE, Builder())


def test_what_a_killed_build_left_is_removed_a_day_later(own_cache: Path) -> None:
    base = open_base_data(RECIPE, Builder())
    old, young = (own_cache / f"{base.path.stem}.{name}.building" for name in ("old", "young"))
    for file in (old, young):
        file.write_text("half")
    os.utime(old, (0, 0))
    base.path.unlink()
    del base
    gc.collect()
    open_base_data(RECIPE, Builder())
    assert not old.exists()
    assert young.exists()


def test_the_hash_is_of_the_rows_and_not_of_how_they_came_about() -> None:
    def database(*statements: str) -> sqlite3.Connection:
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE t (a)")
        connection.execute("CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID")
        for statement in statements:
            connection.execute(statement)
        return connection

    plain = database("INSERT INTO t VALUES (1), ('ä'), (x'00'), (NULL), (0.1)")
    detour = database(
        "INSERT INTO t VALUES (1), ('ä'), (x'00'), (NULL), (0.2), (9)",
        "DELETE FROM t WHERE a = 9",
        "UPDATE t SET a = 0.1 WHERE a = 0.2",
    )
    assert content_hash(plain) == content_hash(detour)
    different = [
        database("INSERT INTO t VALUES (1), ('ä'), (x'00'), (NULL), ('0.1')"),
        database("INSERT INTO t (rowid, a) VALUES (2, 1)"),
        database("INSERT INTO pairs VALUES (1, 2)"),
        database(),
    ]
    assert len({content_hash(one) for one in [plain, *different]}) == 5


@pytest.mark.slow
def test_two_processes_at_once_both_succeed(tmp_path: Path) -> None:
    program = """
import sys, time
from agentworld_sim.relational.base_data import open_base_data
def build(connection):
    connection.execute("CREATE TABLE towns (name)")
    time.sleep(0.5)
    connection.execute("INSERT INTO towns VALUES ('Aldmoor')")
base = open_base_data("slow", build)
with base.reading() as connection:
    print(base.content, *connection.execute("SELECT name FROM towns"))
"""
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0] for process in started]
    assert said[0] == said[1]
    assert "Aldmoor" in said[0]
