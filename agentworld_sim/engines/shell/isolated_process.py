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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentworld_sim.errors import EngineFailure

MOST_IDLE = 2
"""Helpers kept waiting; more may run at the same time."""

PULSE_MS = 20

_WORKER = Path(__file__).with_name("_isolated_worker.py")

_idle: list[_Helper] = []


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
    """Runs an embedded command in a helper process, whose disk has `files`, by absolute path.

    The helper is killed when `seconds_left`, which is asked again and again, says 0 or less: `None`.

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
        # What a shell says of a command that was killed: by its stack, or by a lack of memory.
        if helper.kill() == -signal.SIGSEGV:
            return IsolatedResult("", "Segmentation fault\n", 139, {})
        return IsolatedResult("", "Killed\n", 137, {})
    if len(_idle) < MOST_IDLE:
        _idle.append(helper)
    else:
        helper.kill()
    answer = json.loads(line)
    written = {path: text.encode("latin-1") for path, text in answer.pop("files").items()}
    return IsolatedResult(**answer, files=written)


def _take() -> _Helper:
    with suppress(IndexError):
        while True:
            helper = _idle.pop()
            if helper.is_alive():
                return helper
    return _Helper()


@atexit.register
def stop_helpers() -> None:
    """Ends all waiting helpers."""
    while _idle:
        _idle.pop().kill()


class _Helper:
    def __init__(self) -> None:
        try:
            self._process = subprocess.Popen(
                # `-I` ignores PYTHON* variables and the current folder, so the path is handed over.
                [sys.executable, "-I", str(_WORKER), json.dumps(sys.path)],
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
        self._alive = True

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
                self._alive = part != b""
                if not part or part.endswith(b"\n"):
                    return answer
        return None

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> int:
        """Ends it; what had ended it, as `Popen.returncode`, if it was dying."""
        with suppress(subprocess.TimeoutExpired):
            # It closed its output when it died, and is not gone yet.
            self._process.wait(0 if self._alive else 1.0)
        self._process.kill()
        for pipe in (self._in, self._out):
            with suppress(BrokenPipeError):
                pipe.close()
        return self._process.wait()
