"""Embedded commands in processes of their own, for what cannot be stopped otherwise.

bashkit's `awk` and `jq` can loop without ever looking whether they were cancelled, and a recursion in
`jq` overflows the stack of the whole process. Such a command runs in a helper process, which is killed
when its time is over. Helpers are started when first needed, wait for the next command, and know
nothing of the host: neither its environment nor its files.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from agentworld_sim.errors import EngineFailure

MOST_IDLE = 2
"""Helpers kept waiting; more may run at the same time."""

PULSE_MS = 20

# `-I` ignores PYTHON* variables and the current folder, so sys.path is handed over. The packages are
# empty stand-ins: importing the real ones takes ten times as long as importing bashkit.
_PROGRAM = """
import sys, types
sys.path[:] = {path!r}
name = ""
for part in ("agentworld_sim", "engines", "shell"):
    name = name + "." + part if name else part
    sys.modules[name] = types.ModuleType(name)
sys.modules[name].__path__ = [{here!r}]
from agentworld_sim.engines.shell._isolated_worker import main
main()
"""

_idle: list[_Helper] = []
_guard = threading.Lock()


@dataclass(frozen=True, slots=True)
class IsolatedResult:
    """What came of one command."""

    stdout: str
    stderr: str
    exit_code: int
    files: Mapping[str, bytes]
    """Files that it wrote, by absolute path."""
    error: str | None = None
    """bashkit's own report of a limit."""


def run_isolated(
    argv: Sequence[str],
    *,
    stdin: str | None,
    cwd: str,
    env: Mapping[str, str],
    files: Mapping[str, bytes],
    seconds_left: Callable[[], float],
) -> IsolatedResult | None:
    """Runs an embedded command in a helper process.

    Args:
        argv: The command's name and arguments.
        stdin: Its input; `None` when nothing is connected.
        cwd: Its working directory.
        env: Its environment.
        files: What it finds on its disk, by absolute path.
        seconds_left: Asked again and again; when it says 0 or less, the helper is killed.

    Returns:
        The result; `None` when it was killed for time.

    Raises:
        EngineFailure: the helper could not be started.
    """
    # Bytes travel as text of as many characters.
    held = {path: data.decode("latin-1") for path, data in files.items()}
    request = {"argv": list(argv), "stdin": stdin, "cwd": cwd, "env": dict(env), "files": held}
    helper = _take()
    line = helper.ask(json.dumps(request).encode() + b"\n", seconds_left)
    if line is None:
        helper.kill()
        return None
    if not line.endswith(b"\n"):
        return _result_of_death(helper)
    with _guard:
        spare = len(_idle) >= MOST_IDLE
        if not spare:
            _idle.append(helper)
    if spare:
        helper.kill()
    answer = json.loads(line)
    written = {path: text.encode("latin-1") for path, text in answer.pop("files").items()}
    return IsolatedResult(**answer, files=written)


def stop_helpers() -> None:
    """Ends all waiting helpers."""
    with _guard:
        while _idle:
            _idle.pop().kill()


class _Helper:
    def __init__(self) -> None:
        here = str(Path(__file__).parent)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM.format(path=sys.path, here=here)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={"LANG": "C.UTF-8", "PATH": os.defpath},
                cwd="/",
                close_fds=True,
            )
        except OSError as error:
            raise EngineFailure(f"a helper process could not be started: {error}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self.pid = self._process.pid

    def ask(self, request: bytes, seconds_left: Callable[[], float]) -> bytes | None:
        """The line it answers; `None` when time is over, an unfinished line when it died."""
        # It reads a request to its end before it answers, so writing never waits for reading.
        with suppress(BrokenPipeError):
            self._in.write(request)
            self._in.flush()
        answer = b""
        ready = select.poll()
        ready.register(self._out, select.POLLIN)
        while seconds_left() > 0:
            if ready.poll(PULSE_MS):
                part = os.read(self._out.fileno(), 1 << 20)
                answer += part
                if not part or part.endswith(b"\n"):
                    return answer
        return None

    def kill(self) -> None:
        self._process.kill()
        for pipe in (self._in, self._out):
            with suppress(BrokenPipeError):
                pipe.close()
        self._process.wait()

    def signal(self) -> int:
        """What ended it; 0 when it is unknown."""
        with suppress(subprocess.TimeoutExpired):
            return -min(0, self._process.wait(1.0))
        return 0

    def is_alive(self) -> bool:
        return self._process.poll() is None


def _take() -> _Helper:
    with _guard:
        while _idle:
            helper = _idle.pop()
            if helper.is_alive():
                return helper
            helper.kill()
        _stop_at_exit()
    return _Helper()


@cache
def _stop_at_exit() -> None:
    atexit.register(stop_helpers)


def _result_of_death(helper: _Helper) -> IsolatedResult:
    """What a shell says of a command that was killed: by its stack, or by a lack of memory."""
    number = helper.signal()
    helper.kill()
    if number == signal.SIGSEGV:
        return IsolatedResult("", "Segmentation fault\n", 139, {})
    return IsolatedResult("", "Killed\n", 137, {})
