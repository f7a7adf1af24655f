"""Where worlds are kept when nobody says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentworld_sim import SqliteStore, StoreError, UsageError, WorldStore
from agentworld_sim.store.home import cache_home, home, open_store
from agentworld_sim.store.urls import has_password, shown_url


def test_the_home_folder_is_named_by_the_environment() -> None:
    assert home({"AGENTWORLD_HOME": "/data/worlds"}) == Path("/data/worlds")


def test_a_tilde_in_the_home_folder_is_the_user() -> None:
    assert home({"AGENTWORLD_HOME": "~/worlds"}) == Path.home() / "worlds"


def test_an_empty_setting_counts_as_none() -> None:
    assert home({"AGENTWORLD_HOME": ""}) == home({})
    assert home({}).name == "agentworld"


def test_what_can_be_made_again_stands_in_the_cache_or_in_a_folder_of_the_home(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", "~/worlds")
    assert cache_home() == Path.home() / "worlds" / "cache"
    monkeypatch.setenv("AGENTWORLD_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert cache_home() != home()
    if sys.platform == "linux":
        assert cache_home() == Path("/elsewhere/agentworld")


def test_the_store_is_one_file_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "new"))
    monkeypatch.setenv("AGENTWORLD_STORE", "")
    assert path_of(open_store()) == tmp_path / "new" / "worlds.sqlite"


def test_a_named_file_is_taken_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "new"))
    monkeypatch.setenv("AGENTWORLD_STORE", str(tmp_path / "set.db"))
    assert path_of(open_store()) == tmp_path / "set.db"
    assert path_of(open_store(tmp_path / "mine.db")) == tmp_path / "mine.db"
    assert not (tmp_path / "new").exists()


def path_of(store: WorldStore) -> Path:
    assert isinstance(store, SqliteStore)
    store.close()
    assert store.path.is_file()
    return store.path


def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no store of the kind 'mysql'.*postgresql://"):
        open_store("mysql://u:secret@host/db")


def test_a_store_in_postgresql_names_the_package_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match=r"'psycopg'.*agentworld-sim\[postgres\]"):
        open_store("postgresql://u@host/db")


@pytest.mark.parametrize(
    ("where", "secret"),
    [
        ("postgresql://u:p@host/db", True),
        ("postgres://:p@host/db", True),
        ("postgresql://host/db?user=u&password=p", True),
        ("postgresql://u:p@ss@host/db", True),
        ("postgresql://u:p/s@host/db", True),
        ("postgresql://u@host/db", False),
        ("postgresql://host:5432/db", False),
        ("postgresql:///db", False),
        ("/data/a:b@c.sqlite", False),
    ],
)
def test_a_password_in_a_stores_name_is_seen(where: str, secret: bool) -> None:
    assert has_password(where) is secret


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("postgres://u:secret@host/db?password=secret", "postgresql://u@host/db"),
        ("postgresql://host:5433/db", "postgresql://host:5433/db"),
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://u:secret@[::1]:5432/db", "postgresql://u@[::1]:5432/db"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, told: str) -> None:
    assert shown_url(url) == told


def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and they are long enough to be no database" * 20)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is damaged or is no store"):
        open_store(path)
    assert path.read_bytes() == before
