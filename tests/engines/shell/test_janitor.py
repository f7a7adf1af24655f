"""What sets the times of files serves all machines of a process, and carries nothing between them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from bashkit import FileSystem

from agentworld_sim.engines.shell.file_times import run_touch

MACHINES = 24


def test_times_are_set_in_the_files_that_are_meant_and_nowhere_else() -> None:
    files = [FileSystem() for _ in range(MACHINES)]
    for number, one in enumerate(files):
        one.write_file(f"/of-{number}", b"x")

    def touched(number: int) -> None:
        for second in range(10):
            run_touch(files[number], f"touch -d @{1_000 * number + second} -- '/of-{number}'")

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(touched, range(MACHINES)))
    for number, one in enumerate(files):
        names = {entry["name"] for entry in one.read_dir("/")} - {"dev", "home", "tmp"}
        assert names == {f"of-{number}"}
        assert one.stat(f"/of-{number}")["modified"] == 1_000 * number + 9


def test_a_janitor_that_failed_is_not_used_again() -> None:
    files = FileSystem()
    files.write_file("/a", b"x")
    with pytest.raises(RuntimeError, match="could not set a file's time"):
        run_touch(files, "touch -d nonsense -- '/a'")
    other = FileSystem()
    run_touch(other, "touch -d @5 -- '/b'")
    assert other.stat("/b")["modified"] == 5
    assert not files.exists("/b")
