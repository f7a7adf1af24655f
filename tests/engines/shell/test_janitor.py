"""What sets the times of files serves all machines of a process, and carries nothing between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from bashkit import FileSystem

from agentworld_sim.engines.shell import file_times
from agentworld_sim.engines.shell.file_times import set_times

MACHINES = 24


def test_times_are_set_in_the_files_that_are_meant_and_nowhere_else() -> None:
    files = [FileSystem() for _ in range(MACHINES)]
    for number, one in enumerate(files):
        one.write_file(f"/of-{number}", b"x")

    def touched(number: int) -> None:
        for second in range(10):
            moment_us = (1_000 * number + second) * 1_000_000 + number % 2
            set_times(files[number], {moment_us: [f"/of-{number}"]})

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(touched, range(MACHINES)))
    for number, one in enumerate(files):
        names = {entry["name"] for entry in one.read_dir("/")} - {"dev", "home", "tmp"}
        assert names == {f"of-{number}"}
        modified = one.stat(f"/of-{number}")["modified"]
        assert round(modified * 1_000_000) == (1_000 * number + 9) * 1_000_000 + number % 2


def test_a_janitor_that_failed_is_not_used_again() -> None:
    files = FileSystem()
    files.write_file("/a", b"x")
    with pytest.raises(RuntimeError, match="could not set a file's time"):
        set_times(files, {5: ["/no/such/folder/a"]})
    other = FileSystem()
    set_times(other, {5_000_000: ["/b"], 6_000_001: ["/c"]})
    assert other.stat("/b")["modified"] == 5
    assert round(other.stat("/c")["modified"] * 1_000_000) == 6_000_001
    assert not files.exists("/b")


def test_references_are_given_up_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_times, "MOST_REFERENCES", 3)
    files = FileSystem()
    files.write_file("/a", b"x")
    for moment_us in (*range(1, 9), *range(1, 9)):
        set_times(files, {moment_us: ["/a"]})
        assert round(files.stat("/a")["modified"] * 1_000_000) == moment_us
