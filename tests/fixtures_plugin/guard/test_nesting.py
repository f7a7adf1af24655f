"""Several guards at once, and what is left of them."""

from __future__ import annotations

import _posixsubprocess
import asyncio
import os
import posix
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool

from agentworld_fixtures._guard import Guard, RealEffect

PATCHED: list[tuple[Any, str]] = [
    (os, "open"),
    (os, "mkfifo"),
    (os, "mknod"),
    (os, "_spawnvef"),
    (posix, "open"),
    (_posixsubprocess, "fork_exec"),
    (subprocess, "_fork_exec"),
    (socket, "getaddrinfo"),
    (socket.socket, "connect"),
    (socket.socket, "sendto"),
    (asyncio.BaseEventLoop, "getaddrinfo"),
    (sqlite3, "connect"),
    (threading.Thread, "start"),
    (ThreadPoolExecutor, "submit"),
    (BaseTool, "run"),
    (BaseTool, "arun"),
    (tempfile, "tempdir"),
]


def process() -> list[object]:
    """What guards put something in the place of."""
    found: list[object] = [getattr(owner, name) for owner, name in PATCHED]
    return [*found, "connect" in vars(socket.socket), list(sys.meta_path)]


def stops(path: Path) -> bool:
    try:
        path.touch()
    except RealEffect:
        return True
    return False


def test_the_inner_guard_decides_and_remembers(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with Guard(writable=[first]) as outer:
        with Guard(writable=[second]) as inner:
            assert stops(first / "a")
            assert not stops(second / "a")
        assert not stops(first / "b")
        assert stops(second / "b")
    assert not stops(second / "c")
    assert [len(guard.violations) for guard in (outer, inner)] == [1, 1]


def test_guards_may_end_in_any_order(tmp_path: Path) -> None:
    before = process()
    first, second = Guard(writable=[tmp_path / "first"]), Guard(writable=[tmp_path / "second"])
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert stops(tmp_path / "a")
    assert tempfile.tempdir == str(tmp_path / "second" / "tmp")
    second.__exit__(None, None, None)
    assert not stops(tmp_path / "a")
    assert process() == before
    assert [len(guard.violations) for guard in (first, second)] == [0, 1]


def test_a_guard_may_be_entered_again(tmp_path: Path) -> None:
    before = process()
    with Guard(writable=[tmp_path / "inside"]) as guard:
        with guard:
            assert stops(tmp_path / "a")
        assert stops(tmp_path / "a")
    assert not stops(tmp_path / "a")
    with guard:
        assert stops(tmp_path / "a")
    assert process() == before
    assert len(guard.violations) == 3


def test_everything_is_put_back_after_a_failure_too(tmp_path: Path) -> None:
    before = process()
    with pytest.raises(RealEffect), Guard(writable=[tmp_path / "inside"]):
        assert process() != before
        (tmp_path / "a").touch()
    assert process() == before


def opens_nothing(*_: object, **__: object) -> int:
    return 1


def test_a_monkeypatch_made_meanwhile_stays_and_leaves_no_layers(tmp_path: Path) -> None:
    before = process()
    for _ in range(3):
        patch = pytest.MonkeyPatch()
        with Guard(writable=[tmp_path]):
            patch.setattr(os, "open", opens_nothing)
        assert os.open("/dev/null", 0) == 1
        # Put back is what was there when it was patched: a function of the guard.
        patch.undo()
    with Guard(writable=[tmp_path]):
        pass
    assert process() == before


def test_what_a_test_put_in_place_before_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mine(host: str, port: int, *_: object, **__: object) -> list[object]:
        return [host, port]

    monkeypatch.setattr(socket, "getaddrinfo", mine)
    with Guard(writable=[tmp_path]):
        assert socket.getaddrinfo("localhost", 1) == ["localhost", 1]
    assert socket.getaddrinfo is mine


def test_a_guard_without_folders_lets_no_file_be_written(tmp_path: Path) -> None:
    with Guard():
        assert stops(tmp_path / "a")
