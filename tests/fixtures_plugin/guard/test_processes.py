"""No program is started, whichever way is tried."""

from __future__ import annotations

import _posixsubprocess
import asyncio
import ctypes
import importlib
import multiprocessing
import os
import pty
import signal
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen as PopenOfBefore
from typing import Any

import pytest

from agentworld_fixtures._guard import Guard, RealEffect
from agentworld_sim.engines.shell import isolated_process
from agentworld_sim.engines.shell.isolated_process import stop_helpers
from tests.engines.shell.limited import once

pytestmark = pytest.mark.promise("guard-processes")

Attempt = Callable[[list[str]], object]

NOWHERE = "/nonexistent/program"

SYSTEM: Any = os
"""With the functions that are out of use."""


@pytest.fixture
def command(tmp_path: Path) -> Iterator[list[str]]:
    """A program that would leave a file; it must not."""
    left = tmp_path / "left-by-a-program"
    yield [sys.executable, "-c", f"open({str(left)!r}, 'w')"]
    assert not left.exists()


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    with Guard(writable=[tmp_path, tmp_path.parent]) as guard:
        yield guard


def from_a_coroutine(command: list[str]) -> None:
    async def work() -> None:
        await (await asyncio.create_subprocess_exec(*command)).wait()

    asyncio.run(work())


def from_a_shell_of_asyncio(command: list[str]) -> None:
    async def work() -> None:
        await (await asyncio.create_subprocess_shell(subprocess.list2cmdline(command))).wait()

    asyncio.run(work())


def from_a_pool(command: list[str]) -> None:
    with ThreadPoolExecutor() as pool:
        pool.submit(subprocess.run, command).result()


def from_to_thread(command: list[str]) -> None:
    asyncio.run(asyncio.to_thread(subprocess.run, command))


def spawned_python(command: list[str]) -> None:
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=exec, args=(command[-1],))
    process.start()
    process.join()


def python_of_a_fork_server(command: list[str]) -> None:
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=exec, args=(command[-1],))
    process.start()
    process.join()


def pool_of_spawned_pythons(command: list[str]) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(exec, command[-1]).result()


def other_interpreter(command: list[str]) -> None:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    interpreters: Any = importlib.import_module(name)
    interpreters.run_string(interpreters.create(), command[-1])


def below_subprocess(command: list[str]) -> None:
    # What `Popen` itself calls, after its audit event.
    start: Any = getattr(subprocess, "_fork_exec")  # noqa: B009 - private
    start(*arguments_of_fork_exec(command))


def below_multiprocessing(command: list[str]) -> None:
    _posixsubprocess.fork_exec(*arguments_of_fork_exec(command))


def arguments_of_fork_exec(command: list[str]) -> tuple[Any, ...]:
    program = [os.fsencode(command[0])]
    reading, writing = os.pipe()
    os.close(reading)
    rest = (None, None, -1, -1, -1, -1, -1, -1, -1, writing, False, False, -1, None, None, None, -1)
    tail = (None, False) if sys.version_info < (3, 14) else (None,)
    return (command, program, True, (writing,), *rest, *tail)


ATTEMPTS: list[Attempt] = [
    from_a_coroutine,
    from_a_shell_of_asyncio,
    from_a_pool,
    from_to_thread,
    spawned_python,
    python_of_a_fork_server,
    pool_of_spawned_pythons,
    other_interpreter,
    below_subprocess,
    below_multiprocessing,
]

SHORT: dict[str, Attempt] = {
    "run": lambda command: subprocess.run(command, check=False),
    "Popen of before": lambda command: PopenOfBefore(command).wait(),
    "posix_spawn by Popen": lambda command: subprocess.run(command, close_fds=False, check=False),
    "shell": lambda command: subprocess.check_call(subprocess.list2cmdline(command), shell=True),
    "getoutput": lambda command: subprocess.getoutput(subprocess.list2cmdline(command)),
    "system": lambda command: SYSTEM.system(subprocess.list2cmdline(command)),
    "popen": lambda command: SYSTEM.popen(subprocess.list2cmdline(command)).read(),
    "spawnv": lambda command: SYSTEM.spawnv(os.P_WAIT, command[0], command),
    "spawnvp": lambda command: SYSTEM.spawnvp(os.P_WAIT, command[0], command),
    "spawnle": lambda command: SYSTEM.spawnle(os.P_WAIT, command[0], *command, {}),
    "posix_spawn": lambda command: os.posix_spawn(command[0], command, {}),
    "posix_spawnp": lambda command: os.posix_spawnp(command[0], command, {}),
    # These would replace this very process.
    "execv": lambda command: os.execv(NOWHERE, command),
    "execvpe": lambda command: os.execvpe(NOWHERE, command, {}),
    "pty.spawn": lambda command: pty.spawn([NOWHERE]),
    "webbrowser": lambda command: webbrowser.GenericBrowser(NOWHERE).open("http://a.invalid"),
    "C's system": lambda command: ctypes.CDLL(None).system(b"true"),
    "C's execv": lambda command: ctypes.CDLL(None)["execv"],
    "chroot": lambda command: os.chroot("/"),
    "all processes": lambda command: os.kill(-1, signal.SIGCONT),
    "a process by descriptor": lambda command: signal.pidfd_send_signal(
        os.pidfd_open(1), signal.SIGCONT
    ),
    "another's process": lambda command: os.kill(1, signal.SIGCONT),
}


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
def test_a_way_round_starts_no_program(attempt: Attempt, command: list[str], guard: Guard) -> None:
    with pytest.raises(RealEffect):
        attempt(command)
    assert guard.violations


@pytest.mark.parametrize("attempt", SHORT.values(), ids=list(SHORT))
def test_no_program_is_started(attempt: Attempt, command: list[str], guard: Guard) -> None:
    with pytest.raises(RealEffect):
        attempt(command)
    assert guard.violations


def test_a_thread_from_before_the_guard_is_watched(tmp_path: Path, command: list[str]) -> None:
    go, raised = threading.Event(), list[BaseException]()

    def work() -> None:
        go.wait()
        try:
            subprocess.run(command, check=False)
        except BaseException as error:  # noqa: BLE001 - looked at by who waits
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    with Guard(writable=[tmp_path]) as guard:
        go.set()
        thread.join()
    assert isinstance(raised[0], RealEffect)
    assert "in work" in guard.violations[0].where


async def test_a_task_is_watched(command: list[str], guard: Guard) -> None:
    async def work() -> None:
        await asyncio.create_subprocess_exec(*command)

    with pytest.raises(RealEffect) as caught:
        await asyncio.create_task(work())
    assert "in work" in str(caught.value)


@pytest.mark.parametrize(
    "program",
    [
        ["/opt/google/chrome/chrome", "--headless"],
        ["chromium-browser"],
        ["/home/a/.cache/ms-playwright/webkit-1/pw_run.sh"],
        ["/site-packages/playwright/driver/node", "cli.js", "run-driver"],
        ["/usr/bin/chromedriver", "--port=1"],
    ],
)
def test_a_browser_is_called_one(program: list[str], guard: Guard) -> None:
    with pytest.raises(RealEffect, match="started a browser"):
        subprocess.run(program, check=False)


def test_an_exact_command_can_be_allowed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print(1)"]
    with Guard(writable=[tmp_path], commands=[command]) as guard:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == "1\n"
        with pytest.raises(RealEffect):
            subprocess.run([*command, "2"], check=True)
        with pytest.raises(RealEffect):
            subprocess.run(command, executable="/bin/sh", check=True)
    assert len(guard.violations) == 2


def test_children_of_this_process_may_be_ended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "input()"]
    with (
        Guard(writable=[tmp_path], commands=[command]) as guard,
        subprocess.Popen(command, stdin=subprocess.PIPE) as process,
    ):
        process.terminate()
        process.wait()
    assert guard.violations == ()


def test_the_helper_of_the_simulated_shell_starts(tmp_path: Path) -> None:
    # `awk` without an end is killed in a process of its own.
    stop_helpers()
    with Guard(writable=[tmp_path]) as guard:
        run = once("awk 'BEGIN { while (i < 2) i++; print i }'")
    assert (run.stdout, run.stderr) == ("2\n", "")
    helpers: list[object] = getattr(isolated_process, "_idle")  # noqa: B009 - private
    assert helpers, "it ran in no helper"
    assert guard.violations == ()
    stop_helpers()


def test_nobody_starts_programs_by_naming_a_module_as_ours(
    tmp_path: Path, command: list[str], guard: Guard
) -> None:
    script = "import subprocess; subprocess.run(command)"
    for name in ("agentworld_sim.engines.shell.isolated_process", "platform", "distro"):
        code = compile(script, isolated_process.__file__, "exec")
        with pytest.raises(RealEffect):
            exec(code, {"__name__": name, "command": command})  # noqa: S102 - an attack
    fake = tmp_path / "agentworld_sim" / "engines" / "shell" / "isolated_process.py"
    fake.parent.mkdir(parents=True)
    fake.write_text(script)
    with pytest.raises(RealEffect):
        exec(  # noqa: S102 - an attack
            compile(script, str(fake), "exec"),
            {"__name__": "agentworld_sim.engines.shell.isolated_process", "command": command},
        )


def test_what_only_looks_at_this_machine_is_free(guard: Guard) -> None:
    import platform

    platform.uname().processor  # noqa: B018 - asked of `uname`
    with pytest.raises(RealEffect):
        subprocess.run(["uname", "-p"], check=False)


def test_secrets_in_arguments_are_not_shown(guard: Guard, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["curl", "-H", "Authorization: Bearer abcdefghijkl", "--password", "hunter2secret"]
    command += [
        "--api-key=1234567890ab",
        "https://me:pa55word@host.invalid/",
        "sk-abcdefghijklmnop",
    ]
    with pytest.raises(RealEffect) as caught:
        subprocess.run(command, check=False)
    text = f"{caught.value} {guard.violations}"
    for secret in ("abcdefghijkl", "hunter2secret", "1234567890ab", "pa55word"):
        assert secret not in text
    assert "'curl', '-H'" in text


def test_secrets_of_the_environment_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "without-any-shape")
    with Guard(writable=[tmp_path]), pytest.raises(RealEffect) as caught:
        subprocess.run(["tool", "without-any-shape"], check=False)
    assert "without-any-shape" not in str(caught.value)
