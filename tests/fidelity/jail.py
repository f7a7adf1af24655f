"""Runs a session in the machine's own bash, with throw-away filesystems in private namespaces.

The session sees the real programs and fresh folders at `ROOTS`; nothing outside changes. A shell
is traced only where it ends, to read its working directory: that works after `exit`, a trap, a
syntax error or a signal, and adds nothing that the session could see.
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from .model import ENVIRONMENT, ROOTS, WORKDIR, CommandOutcome, FileState

COMMAND_LIMIT_S = 30.0
_NAMESPACES = ("--mount", "--uts", "--ipc", "--pid", "--net", "--fork", "--mount-proc")
_TRACEME, _CONT, _SETOPTIONS = 0, 7, 0x4200
_TRACE_EXEC, _TRACE_EXIT, _KILL_WITH_TRACER = 0x10, 0x40, 0x100000
_EVENT_EXEC, _EVENT_EXIT = 4, 6

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class NoNamespaces(Exception):
    """This machine does not let us record without touching it; nothing was run."""


def namespace_command() -> list[str]:
    """The `unshare` call that isolates a recording.

    Raises:
        NoNamespaces: neither as root nor with a user namespace.
    """
    unshare = shutil.which("unshare")
    if unshare is None:
        raise NoNamespaces("recording needs the `unshare` program (util-linux); nothing was run")
    for options in (_NAMESPACES, ("--user", "--map-root-user", *_NAMESPACES)):
        command = [unshare, *options]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            return command
    raise NoNamespaces(
        "recording needs mount and process namespaces, as root or by unprivileged user"
        " namespaces; this machine allows neither, so nothing was run"
    )


def prepare() -> None:
    """Puts fresh filesystems over `ROOTS`. Only inside the namespaces of `namespace_command`."""
    if os.getpid() != 1:
        raise NoNamespaces("refused: this process is not alone in a process namespace")
    for root in ROOTS:
        mode = {"/tmp": "1777", "/root": "700"}.get(root, "755")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode={mode}", "none", root], check=True)
    # The recorder's own system stays as it is even if a session writes outside of `ROOTS`.
    subprocess.run(["mount", "-o", "remount,bind,ro", "/"], check=True)
    socket.sethostname("debian")
    os.umask(0o022)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.makedirs(WORKDIR)


def run_session(
    commands: Sequence[str],
) -> list[tuple[CommandOutcome, dict[str, FileState | None]]]:
    """Runs the commands one after another; gives each one's outcome and file changes."""
    directory = WORKDIR
    before = read_tree()
    results: list[tuple[CommandOutcome, dict[str, FileState | None]]] = []
    for command in commands:
        outcome, directory = _run(command, directory)
        after = read_tree()
        results.append((outcome, changes(before, after)))
        before = after
    return results


def read_tree() -> dict[str, FileState]:
    tree: dict[str, FileState] = {}
    for root in ROOTS:
        for folder, folders, files in os.walk(root):
            for name in (*folders, *files):
                path = f"{folder}/{name}"
                if path != WORKDIR:
                    tree[path] = _read_file(Path(path))
    return tree


def changes(
    before: Mapping[str, FileState], after: Mapping[str, FileState]
) -> dict[str, FileState | None]:
    """What turns one tree into the other, sorted by path; None is a deletion."""
    paths = sorted(before.keys() | after.keys())
    return {path: after.get(path) for path in paths if before.get(path) != after.get(path)}


def _read_file(path: Path) -> FileState:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return FileState.of_symlink(os.readlink(path))
    if stat.S_ISDIR(status.st_mode):
        return FileState.of_directory(status.st_mode)
    if stat.S_ISREG(status.st_mode):
        return FileState.of_file(path.read_bytes(), status.st_mode)
    return FileState(kind="other", mode=f"{status.st_mode & 0o7777:o}")


def _run(command: str, directory: str) -> tuple[CommandOutcome, str]:
    shell = subprocess.Popen(
        ["bash", "-c", command],
        cwd=directory,
        env=dict(ENVIRONMENT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Only a system call, and this process holds no lock that the child could wait for.
        preexec_fn=lambda: _libc.ptrace(_TRACEME, 0, None, None),  # noqa: PLW1509
    )
    assert shell.stdout is not None and shell.stderr is not None
    readers = [_Reader(shell.stdout), _Reader(shell.stderr)]
    timer = threading.Timer(COMMAND_LIMIT_S, os.kill, (shell.pid, signal.SIGKILL))
    timer.start()
    exit_code, final = _trace(shell.pid)
    if not timer.is_alive():
        sys.exit(f"{command!r} ran longer than {COMMAND_LIMIT_S:.0f} s; nothing is recorded")
    timer.cancel()
    shell.returncode = exit_code
    stdout, stderr = (reader.text() for reader in readers)
    return CommandOutcome(stdout, stderr, exit_code), final


def _trace(pid: int) -> tuple[int, str]:
    """Waits for the shell; gives its exit code as a parent shell reports it, and its folder."""
    _, status = os.waitpid(pid, 0)
    assert os.WIFSTOPPED(status), "the traced shell stops when it starts"
    _libc.ptrace(_SETOPTIONS, pid, None, _TRACE_EXEC | _TRACE_EXIT | _KILL_WITH_TRACER)
    directory, signal_number = "", 0
    while True:
        _libc.ptrace(_CONT, pid, None, signal_number)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            code = os.waitstatus_to_exitcode(status)
            return (128 - code if code < 0 else code), directory
        signal_number = os.WSTOPSIG(status)
        if status >> 16 in (_EVENT_EXEC, _EVENT_EXIT):
            # A shell becomes its last program, and `mkdir -p` or `rm -r` walk through folders.
            directory = directory or os.readlink(f"/proc/{pid}/cwd")
        if signal_number == signal.SIGTRAP:
            signal_number = 0


class _Reader:
    """Collects a pipe; a background process that keeps it open is not waited for."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe: IO[bytes]) -> None:
        while chunk := os.read(pipe.fileno(), 65536):
            self._data += chunk

    def text(self) -> str:
        end = time.monotonic() + 3
        self._thread.join(max(0.0, end - time.monotonic()))
        return bytes(self._data).decode(errors="backslashreplace")
