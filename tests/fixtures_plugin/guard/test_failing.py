"""Whoever swallows the exception: the test fails."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from agentworld_fixtures._guard import Guard, RealEffect

pytestmark = pytest.mark.promise("guard-fails-test")

PROGRAM = ["a-program-that-does-not-exist"]

CONFTEST = """
import pytest
from agentworld_fixtures._guard import Guard

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with Guard(writable=[item.funcargs["tmp_path"]]) as guard:
        try:
            result = yield
        except BaseException as error:
            guard.judge(error)
            raise
        guard.judge()
        return result

@pytest.fixture(autouse=True)
def folder(tmp_path):
    return tmp_path
"""


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(f"import asyncio, os, subprocess, threading, pytest\n{body}")
    return pytester.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider", *options)


def test_it_is_no_exception_that_handlers_of_errors_catch() -> None:
    assert not issubclass(RealEffect, Exception)
    assert issubclass(RealEffect, pytest.fail.Exception)
    again = pickle.loads(pickle.dumps(RealEffect("why")))
    assert (type(again), str(again)) == (RealEffect, "why")


def test_it_survives_what_catches_exceptions(tmp_path: Path) -> None:
    def careful() -> str:
        try:
            subprocess.run(PROGRAM, check=True)
        except Exception as error:  # noqa: BLE001 - the very point
            return f"it failed: {error}"
        return "it worked"

    with Guard(writable=[tmp_path]), pytest.raises(RealEffect):
        careful()


def swallowed() -> None:
    with suppress(BaseException):
        subprocess.run(PROGRAM, check=False)


def swallowed_in_a_thread() -> None:
    thread = threading.Thread(target=swallowed)
    thread.start()
    thread.join()


def swallowed_in_a_pool() -> None:
    with ThreadPoolExecutor() as pool:
        pool.submit(subprocess.run, PROGRAM)


def swallowed_by_gather() -> None:
    async def work() -> None:
        await asyncio.gather(asyncio.to_thread(subprocess.run, PROGRAM), return_exceptions=True)

    asyncio.run(work())


def swallowed_by_logging() -> None:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with suppress(BaseException):
                subprocess.run(PROGRAM, check=False)

    Handler().handle(logging.makeLogRecord({}))


def swallowed_by_the_garbage_collector() -> None:
    class Late:
        def __del__(self) -> None:
            swallowed()

    Late()


@pytest.mark.parametrize(
    "swallows",
    [
        swallowed,
        swallowed_in_a_thread,
        swallowed_in_a_pool,
        swallowed_by_gather,
        swallowed_by_logging,
        swallowed_by_the_garbage_collector,
    ],
    ids=lambda function: function.__name__,
)
def test_a_swallowed_attempt_is_remembered(swallows: Callable[[], None], tmp_path: Path) -> None:
    with Guard(writable=[tmp_path]) as guard:
        swallows()
    with pytest.raises(RealEffect) as caught:
        guard.judge()
    assert "started a program: ['a-program-that-does-not-exist']" in str(caught.value)


def test_it_comes_out_of_groups_of_tasks(tmp_path: Path) -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.create_subprocess_exec(*PROGRAM))

    with Guard(writable=[tmp_path]), pytest.raises(BaseExceptionGroup) as caught:
        asyncio.run(work())
    assert caught.group_contains(RealEffect)


def test_a_failure_of_its_own_stays_the_reason(tmp_path: Path) -> None:
    with Guard(writable=[tmp_path]) as guard:
        swallowed()
    error = AssertionError("two is not one")
    guard.judge(error)
    (note,) = error.__notes__
    assert note.startswith("Real effects were stopped in this test:\n- swallowed() started")


def test_a_skip_does_not_hide_it(tmp_path: Path) -> None:
    with Guard(writable=[tmp_path]) as guard:
        swallowed()
    with pytest.raises(RealEffect):
        guard.judge(pytest.skip.Exception("not today"))


def test_without_an_attempt_nothing_fails(tmp_path: Path) -> None:
    with Guard(writable=[tmp_path]) as guard:
        pass
    guard.judge()
    error = AssertionError()
    guard.judge(error)
    assert not hasattr(error, "__notes__")


def test_only_the_first_attempts_are_kept(tmp_path: Path) -> None:
    with Guard(writable=[tmp_path]) as guard:
        for _ in range(200):
            swallowed()
    assert len(guard.violations) == 50


def test_pytest_prints_who_tried_what_and_where(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last line is cut to the width of the terminal.
    monkeypatch.setenv("COLUMNS", "200")
    result = run(
        pytester,
        """
def list_files(folder):
    return subprocess.run(["ls", folder])

def test_listing():
    list_files("/")
""",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E *RealEffect: list_files() started a program: ?'ls', '/'?",
            "E *  at *.py:4 in list_files",
            "FAILED *::test_listing - RealEffect: list_files() started a program: ?'ls', '/'?",
        ]
    )
    # The guard's own frames are no part of the story.
    assert "_hook.py" not in result.stdout.str()


def test_pytest_fails_tests_that_swallow_it(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
def attempt():
    try:
        os.system("ls")
    except BaseException:
        pass

def test_swallowed():
    attempt()

def test_skipped():
    attempt()
    pytest.skip()

def test_failed_by_itself():
    attempt()
    assert 1 == 2

def test_thread():
    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()

def test_fork():
    child = os.fork()
    if not child:
        attempt()
        os._exit(0)
    os.waitpid(child, 0)

def test_good(tmp_path):
    (tmp_path / "a").write_text("1")
""",
    )
    result.assert_outcomes(failed=5, passed=1)
    result.stdout.fnmatch_lines(
        ["E *assert 1 == 2", "*Real effects were stopped in this test:", "*- attempt() started *"]
    )


def test_pytest_prints_asynchronous_attempts(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
async def start():
    await asyncio.create_subprocess_exec("ls")

async def test_task():
    await asyncio.create_task(start())

async def test_fetch():
    await asyncio.open_connection("example.invalid", 443)
""",
        "-o",
        "asyncio_mode=auto",
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*RealEffect: start() started a program: ?'ls'?",
            "*RealEffect: test_fetch() looked up the host 'example.invalid'",
        ]
    )


@pytest.mark.slow
def test_xdist_knows_it(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        """
@pytest.mark.parametrize("number", range(4))
def test_many(number):
    os.system(f"ls {number}")

def test_fine():
    pass
""",
        "-n",
        "2",
    )
    result.assert_outcomes(failed=4, passed=1)


def test_housekeeping_of_pytest_and_hypothesis_passes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Under CI hypothesis keeps nothing.
    for name in ("CI", "TF_BUILD", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(
        """
from hypothesis import given, strategies

def test_late_folder(tmp_path_factory):
    assert tmp_path_factory.mktemp("late").is_dir()

def test_cache(cache):
    cache.set("mine/value", 1)

@given(strategies.integers())
def test_numbers(number):
    assert number < 100
"""
    )
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    # Hypothesis has kept its example; nothing but the assertion failed.
    result.assert_outcomes(passed=2, failed=1)
    assert "RealEffect" not in result.stdout.str()
    assert (pytester.path / ".hypothesis" / "examples").is_dir()
    assert (pytester.path / ".pytest_cache" / "v" / "mine" / "value").is_file()


def test_a_warning_of_an_open_socket_does_not_follow(tmp_path: Path) -> None:
    # `socket.create_connection` closes its socket only for an `OSError`.
    import gc
    import socket
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Guard(writable=[tmp_path]), suppress(RealEffect):
            socket.create_connection(("192.0.2.1", 80))
        gc.collect()


def test_the_process_of_a_test_is_not_replaced(tmp_path: Path) -> None:
    with Guard(writable=[tmp_path]), pytest.raises(RealEffect):
        os.execvp("true", ["true"])
