"""One process at a time writes into a folder, and what was there is kept."""

from __future__ import annotations

import os
from pathlib import Path

from agentworld_sim.errors import UsageError

_LOCK = ".lock"


def set_aside(folder: Path) -> Path | None:
    """Renames a folder out of the way, to `NAME.old-N`. Returns the new name, if there was a folder.

    Raises:
        UsageError: another process writes there.
    """
    if not folder.exists():
        return None
    verify_free(folder)
    number = 1
    while (aside := folder.with_name(f"{folder.name}.old-{number}")).exists():
        number += 1
    folder.rename(aside)
    return aside


def verify_free(folder: Path) -> None:
    """
    Raises:
        UsageError: another process writes there.
    """
    if folder.is_dir():
        os.close(locked(folder))


def locked(folder: Path) -> int:
    """Locks a folder for this process; closing the descriptor, or its death, unlocks it.

    Raises:
        UsageError: another process writes there.
    """
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT)
    try:
        import fcntl
    except ImportError:
        # Windows: nobody keeps two processes apart.
        return lock
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise UsageError(
            f"another process is writing {str(folder)!r}. Wait for it, or choose another `output`."
        ) from None
    return lock
