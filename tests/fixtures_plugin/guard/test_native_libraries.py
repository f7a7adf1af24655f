"""Connections and files of native code, whose Python functions the guard replaces."""

from __future__ import annotations

import syslog
import types
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agentworld_fixtures._guard import Guard, RealEffect
from agentworld_fixtures._guard._interception import Patches

from .conftest import Places


@pytest.mark.parametrize("conninfo", ["host=db.example port=5432", "postgresql://db.example/x"])
def test_psycopg_reaches_no_other_machine(guard: Guard, conninfo: str) -> None:
    generators = import_module("psycopg.generators")
    with pytest.raises(RealEffect, match=r"connected to db\.example:5432"):
        generators.connect(conninfo)
    generators.connect("host=/tmp")
    generators.connect("host=127.0.0.1 port=1")


def test_lxml_fetches_nothing(guard: Guard, places: Places) -> None:
    etree = import_module("lxml.etree")
    with pytest.raises(RealEffect, match=r"connected to example\.org:80"):
        etree.parse("http://example.org/a.xml")
    page = places.inside / "a.xml"
    page.write_text("<a/>")
    assert etree.parse(str(page)).getroot().tag == "a"


@pytest.fixture
def loaded() -> Any:
    """Modules that look like those of libraries which are not installed here."""

    class Channel:
        def __init__(self, target: str) -> None: ...

    class DataFrame:
        def write_csv(self, file: object = None) -> str:
            return "a,b"

    def connect(database: str = ":memory:", read_only: bool = False) -> str:
        return database

    modules = types.SimpleNamespace()
    patches = Patches()
    for name, content in {
        "grpc._channel": {"Channel": Channel},
        "polars.dataframe.frame": {"DataFrame": DataFrame},
        "duckdb": {"connect": connect},
    }.items():
        module: Any = types.ModuleType(name)
        for key, value in content.items():
            setattr(module, key, value)
        if "DataFrame" in content:
            for missing in ("write_parquet", "write_ipc", "write_json", "write_ndjson"):
                setattr(module.DataFrame, missing, DataFrame.write_csv)
        patches.patch_module(module)
        setattr(modules, name.partition(".")[0], module)
    yield modules
    patches.undo()


def test_grpc_duckdb_and_polars_are_asked_first(guard: Guard, places: Places, loaded: Any) -> None:
    for target in ("api.example:443", "dns:///api.example:443"):
        with pytest.raises(RealEffect, match=r"connected to api\.example:443"):
            loaded.grpc.Channel(target)
    for target in ("localhost:50051", "unix:/tmp/socket", "[::1]:50051"):
        loaded.grpc.Channel(target)
    with pytest.raises(RealEffect, match="opened a database for writing"):
        loaded.duckdb.connect(str(places.outside / "a.duckdb"))
    assert loaded.duckdb.connect() == ":memory:"
    loaded.duckdb.connect(str(places.inside / "a.duckdb"))
    loaded.duckdb.connect(str(places.outside / "a.duckdb"), read_only=True)
    with pytest.raises(RealEffect, match="wrote a file"):
        loaded.polars.DataFrame().write_csv(places.outside / "a.csv")
    loaded.polars.DataFrame().write_csv(places.inside / "a.csv")
    assert loaded.polars.DataFrame().write_csv() == "a,b"


def test_the_log_of_the_system_is_not_written(guard: Guard) -> None:
    with pytest.raises(RealEffect, match="wrote to the log of the system"):
        syslog.syslog("hello")


def test_cffi_declares_nothing_that_starts_programs(guard: Guard) -> None:
    cffi = import_module("cffi")
    cffi.FFI().cdef("int abs(int);")
    with pytest.raises(RealEffect, match="looked up the C function 'system'"):
        cffi.FFI().cdef("int system(const char *command);")


def test_paths_and_programs_are_allowed_by_name(places: Places, tmp_path: Path) -> None:
    import subprocess

    more = tmp_path / "more"
    with Guard(writable=[places.inside], paths=[more], programs=["true"]):
        more.mkdir()
        (more / "a").write_text("x")
        subprocess.run(["true", "--help"], check=True)
        with pytest.raises(RealEffect, match="started a program"):
            subprocess.run(["false"], check=False)
        with pytest.raises(RealEffect, match="wrote a file"):
            (tmp_path / "b").write_text("x")


def test_gitpython_is_imported_with_its_question_for_the_version(guard: Guard) -> None:
    git = import_module("git")
    git.refresh()
    with pytest.raises(RealEffect, match="'git', 'status'"):
        git.Git().status()
