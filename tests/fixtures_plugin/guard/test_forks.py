"""Forked children are watched as well, and their attempts fail the test of their parent."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from agentworld_fixtures._guard import Guard, RealEffect

pytestmark = [
    pytest.mark.promise("guard-forks"),
    # Forking with threads around: what runs in these children takes no locks of others.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "left"
    yield path
    assert not path.exists()


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    with Guard(writable=[tmp_path / "inside"]) as guard:
        yield guard


def forked(work: Callable[[], object]) -> int:
    """Does something in a child; gives its exit code."""
    child = os.fork()
    if not child:
        try:
            work()
        except RealEffect:
            os._exit(7)
        except BaseException:  # noqa: BLE001 - whatever it is, it must not go on in a child
            traceback.print_exc()
            os._exit(8)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def program(left: Path) -> list[str]:
    return [sys.executable, "-c", f"open({str(left)!r}, 'w')"]


def test_a_forked_child_is_stopped_and_reports(left: Path, guard: Guard) -> None:
    assert forked(lambda: subprocess.run(program(left), check=True)) == 7
    (violation,) = guard.violations
    assert violation.what.startswith("started a program")
    assert "test_forks.py" in violation.where


def test_a_child_of_a_child_is_stopped_and_reports(left: Path, guard: Guard) -> None:
    assert forked(lambda: forked(lambda: left.write_text("x"))) == 0
    assert [violation.what for violation in guard.violations] == [f"wrote a file: {left}"]


def test_a_forked_process_of_multiprocessing_is_stopped(
    left: Path, guard: Guard, capfd: pytest.CaptureFixture[str]
) -> None:
    process = FORK.Process(target=left.write_text, args=("x",))
    process.start()
    process.join()
    assert process.exitcode == 1
    assert "RealEffect" in capfd.readouterr().err
    assert len(guard.violations) == 1


def test_a_pool_of_forked_processes_is_stopped(left: Path, guard: Guard) -> None:
    with ProcessPoolExecutor(1, FORK) as pool:
        future = pool.submit(left.write_text, "x")
        assert isinstance(future.exception(), RealEffect)
    assert len(guard.violations) == 1


def test_what_the_child_swallows_is_known_to_the_parent(left: Path, guard: Guard) -> None:
    def attempt() -> None:
        with suppress(BaseException):
            left.write_text("x")

    assert forked(attempt) == 0
    with pytest.raises(RealEffect, match=r"attempt\(\) wrote a file"):
        guard.judge()


def test_many_children_report_whole_lines(left: Path, guard: Guard) -> None:
    children = [FORK.Process(target=many_attempts, args=(left,)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert len(guard.violations) == 40
    assert {violation.what for violation in guard.violations} == {f"wrote a file: {left}"}


def many_attempts(left: Path) -> None:
    for _ in range(10):
        with suppress(RealEffect):
            left.write_text("x")


def test_a_child_that_closes_everything_is_stopped_and_writes_nowhere_else(
    left: Path, guard: Guard, tmp_path: Path
) -> None:
    (tmp_path / "inside").mkdir()
    other = tmp_path / "inside" / "other"

    def daemon() -> None:
        os.closerange(3, 256)
        for _ in range(200):
            os.dup(os.open(other, os.O_RDWR | os.O_CREAT))
        left.write_text("x")

    assert forked(daemon) == 7
    assert other.read_bytes() == b""


def test_a_child_in_an_allowed_tool_may_do_what_the_tool_may(tmp_path: Path) -> None:
    from langchain_core.tools import tool

    @tool
    def save() -> str:
        """Saves."""
        return str(forked((tmp_path / "saved").touch))

    with Guard(allow_real=["save"]) as guard:
        assert save.invoke({}) == "0"
    assert guard.violations == ()


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        with Guard(writable=[tmp_path]):
            pass
    assert len(os.listdir("/proc/self/fd")) == before
