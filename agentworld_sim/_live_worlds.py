"""How many worlds keep a live engine in this process.

A live machine holds memory and file descriptors; what it holds can be rebuilt from the world's state
in milliseconds. So only those used last stay up, and any number of worlds may be open.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

MAX_LIVE = 32
"""Worlds with a live engine, per process. With the open files of each, well below the usual limit of
1,024 for a process."""


class Restable(Protocol):
    """A world, as far as this module cares."""

    def rest(self) -> bool:
        """Frees what can be rebuilt; `False` when it is busy."""
        ...


class LiveWorlds:
    """The worlds that have a live engine, the one used last at the end."""

    def __init__(self, limit: int = MAX_LIVE) -> None:
        self._limit = limit
        self._guard = threading.Lock()
        self._worlds: dict[int, weakref.ref[Restable]] = {}

    def used(self, world: Restable) -> None:
        """Notes a use, and puts the least recently used idle worlds to rest if there are too many."""
        with self._guard:
            self._worlds.pop(id(world), None)
            self._worlds[id(world)] = weakref.ref(world)
            surplus = len(self._worlds) - self._limit
            oldest = list(self._worlds.items())[:surplus] if surplus > 0 else []
        for key, reference in oldest:
            held = reference()
            if held is None or held.rest():
                with self._guard:
                    self._worlds.pop(key, None)


live_worlds = LiveWorlds()
"""Of this process."""
