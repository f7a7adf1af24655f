"""Embedded commands in processes of their own, for what cannot be stopped otherwise.

bashkit's `awk` and `jq` can loop without ever looking whether they were cancelled, and a recursion in
`jq` overflows the stack of the whole process. Such a command runs in a helper process, which is killed
when its time is over. Helpers are started when first needed, wait for the next command, and know
nothing of the host: neither its environment nor its files.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import selectors
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

PULSE_S = 0.02

_HERE = Path(__file__).parent

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
    request = {
        "argv": list(argv),
        "stdin": stdin,
        "cwd": cwd,
        "env": dict(env),
        "files": {path: base64.b64encode(data).decode() for path, data in files.items()},
    }
    helper = _take()
    line = helper.ask(json.dumps(request).encode() + b"\n", seconds_left)
    if line is None:
        helper.kill()
        return None
    if not line.endswith(b"\n"):
        return _died(helper)
    with _guard:
        if len(_idle) < MOST_IDLE:
            _idle.append(helper)
            helper = None
    if helper is not None:
        helper.kill()
    answer = json.loads(line)
    return IsolatedResult(
        answer["stdout"],
        answer["stderr"],
        answer["exit_code"],
        {path: base64.b64decode(data) for path, data in answer["files"].items()},
        answer["error"],
    )


def stop_helpers() -> None:
    """Ends all waiting helpers."""
    with _guard:
        while _idle:
            _idle.pop().kill()


class _Helper:
    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM.format(path=sys.path, here=str(_HERE))],
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
        self._in = self._process.stdin
        self._out = self._process.stdout
        self.pid = self._process.pid

    def ask(self, request: bytes, seconds_left: Callable[[], float]) -> bytes | None:
        """The line it answers; `None` when time is over, an unfinished line when it died."""
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)
        todo, answer = memoryview(request), bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(self._in, selectors.EVENT_WRITE)
            ready.register(self._out, selectors.EVENT_READ)
            while seconds_left() > 0:
                for key, _ in ready.select(PULSE_S):
                    if key.fileobj is self._in:
                        with suppress(BlockingIOError, BrokenPipeError):
                            todo = todo[os.write(key.fd, todo[:65536]) :]
                        if not todo or self._process.poll() is not None:
                            ready.unregister(self._in)
                        continue
                    part = os.read(key.fd, 1 << 20)
                    answer += part
                    if not part or part.endswith(b"\n"):
                        return bytes(answer)
        return None

    def kill(self) -> None:
        self._process.kill()
        self._in.close()
        self._out.close()
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


def _died(helper: _Helper) -> IsolatedResult:
    """What a shell says of a command that was killed: by its stack, or by a lack of memory."""
    number = helper.signal()
    helper.kill()
    if number == signal.SIGSEGV:
        return IsolatedResult("", "Segmentation fault\n", 139, {})
    return IsolatedResult("", "Killed\n", 137, {})
