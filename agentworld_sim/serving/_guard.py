"""Stands between us and a model server: whatever happens to us, the server does not outlive it.

Run as a program of its own, by path, with nothing but the standard library:

    python -I -S _guard.py GRACE COMMAND…

Its standard input is a pipe that we hold. When that closes, because we closed it or because we were
killed, the server's whole process group is asked to stop and, after GRACE seconds, made to; a signal
to us meanwhile ends the patience. The exit code is the server's; 128 + n after signal n.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress


def main() -> int:
    """Runs the command until it ends or our input closes."""
    grace, command = float(sys.argv[1]), sys.argv[2:]
    woken = _wake_on_signals()
    try:
        # A group of its own: engines start workers, and all of them must be reached at once.
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        return 127
    _wait(server.pid, woken, input_too=True)
    if not _ended(server.pid):
        _signal(server.pid, signal.SIGTERM)
        _wait(server.pid, woken, deadline=time.monotonic() + grace)
    # Before the leader is reaped, so that the group's number cannot have become another's.
    _signal(server.pid, signal.SIGKILL)
    code = server.wait()
    return code if code >= 0 else 128 - code


def _wake_on_signals() -> int:
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _nothing)
    return woken


def _nothing(number: int, frame: object) -> None:
    """The wake-up is all that is wanted of a signal."""


def _wait(pid: int, woken: int, *, input_too: bool = False, deadline: float | None = None) -> None:
    """Until the process has ended, we are to stop, or the deadline has passed."""
    watched = [woken, 0] if input_too else [woken]
    while not _ended(pid):
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            return
        ready, _, _ = select.select(watched, [], [], left)
        if 0 in ready and not os.read(0, 1024):
            return
        if woken in ready and {*os.read(woken, 1024)} - {signal.SIGCHLD}:
            return


def _ended(pid: int) -> bool:
    """Whether it has, without reaping it."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal(group: int, number: int) -> None:
    # Some systems refuse to signal a group of which only the dead leader is left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    sys.exit(main())
