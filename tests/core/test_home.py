"""Where worlds are kept when nobody says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentworld_sim import StoreError
from agentworld_sim.state._home import home, open_store


def test_the_home_folder_is_named_by_the_environment() -> None:
    assert home({"AGENTWORLD_HOME": "/data/worlds"}) == Path("/data/worlds")


def test_a_tilde_in_the_home_folder_is_the_user() -> None:
    assert home({"AGENTWORLD_HOME": "~/worlds"}) == Path.home() / "worlds"


def test_an_empty_setting_counts_as_none() -> None:
    assert home({"AGENTWORLD_HOME": ""}) == home({})
    assert home({}).name == "agentworld"


def test_the_store_is_one_file_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "new"))
    store = open_store()
    store.close()
    assert store.path == tmp_path / "new" / "worlds.sqlite"
    assert store.path.is_file()


def test_a_named_file_is_taken_instead(tmp_path: Path) -> None:
    store = open_store(tmp_path / "mine.db")
    store.close()
    assert store.path == tmp_path / "mine.db"


def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, and they are long enough to be no database" * 20)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is damaged or is no store"):
        open_store(path)
    assert path.read_bytes() == before
