"""How many worlds keep a live engine in this process.

A live machine holds memory and file descriptors; what it holds can be rebuilt from the world's state
in milliseconds. So only those used last stay up, and any number of worlds may be open.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

MOST_LIVE = 256
"""Worlds with a live engine, per process, where it may have files enough open: about 0.5 MB each."""

LEAST_LIVE = 32
"""Well below the usual limit of 1,024 open files for a process."""

FILES_EACH = 20
"""Open files of a live machine (15, measured), and some to spare."""

FILES_ELSE = 384
"""Open files that are left for everything else."""


class Restable(Protocol):
    """A world, as far as this module cares."""

    def rest(self) -> bool:
        """Frees what can be rebuilt; `False` when it is busy."""
        ...


class LiveWorlds:
    """The worlds that have a live engine, the one used last at the end."""

    def __init__(self, limit: int | None = None) -> None:
        """
        Args:
            limit: Most of them; by default what the process's limit of open files allows.
        """
        self._limit = limit
        self._guard = threading.Lock()
        self._worlds: dict[int, weakref.ref[Restable]] = {}

    def used(self, world: Restable) -> None:
        """Notes a use, and puts the least recently used idle worlds to rest if there are too many."""
        with self._guard:
            self._worlds.pop(id(world), None)
            self._worlds[id(world)] = weakref.ref(world)
            if self._limit is None:
                self._limit = live_limit()
            surplus = len(self._worlds) - self._limit
            oldest = list(self._worlds.items())[:surplus] if surplus > 0 else []
        for key, reference in oldest:
            held = reference()
            if held is None or held.rest():
                with self._guard:
                    self._worlds.pop(key, None)


def live_limit() -> int:
    """How many worlds of this process may be live."""
    try:
        import resource
    except ImportError:  # Windows has no such limit to ask for.
        return LEAST_LIVE
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_LIVE
    return max(LEAST_LIVE, min(MOST_LIVE, (files - FILES_ELSE) // FILES_EACH))


live_worlds = LiveWorlds()
"""Of this process."""
