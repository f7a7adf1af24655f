"""Interpreters that set the times of files: what the embedded shell can do with `touch` alone.

They run nothing else and hold no files between two uses, so those of one process serve all its worlds.
"""

from __future__ import annotations

import os

from bashkit import Bash, ExecutionProfile, FileSystem

_UNBOUNDED = 2**62

_idle: dict[int, list[Bash]] = {}
"""By process: what was made before a fork is of no use after it."""


def run_touch(files: FileSystem, script: str) -> None:
    """Runs a script of `touch` commands with absolute paths on `files`.

    Raises:
        RuntimeError: a command failed.
    """
    idle = _idle.setdefault(os.getpid(), [])
    try:
        bash = idle.pop()
    except IndexError:
        # Not asked beforehand: another thread may take the last one in between.
        bash = _made()
    bash.mount("/", files)
    result = bash.execute_sync(script)
    bash.unmount("/")
    if result.exit_code:
        raise RuntimeError(f"could not set a file's time: {result.stderr.strip()}")
    idle.append(bash)


def _made() -> Bash:
    return Bash(
        profile=ExecutionProfile.Interactive,
        max_commands=_UNBOUNDED,
        max_loop_iterations=_UNBOUNDED,
    )
