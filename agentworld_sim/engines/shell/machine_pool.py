"""Machines whose world was closed, kept for the next one.

Bringing a machine up takes two milliseconds: an interpreter that knows our commands, and the files of a
fresh system. A machine in which nothing is left of its world takes over another one by writing only the
files that differ, so a fork, or a new world at the same beginning, has its machine at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable

from agentworld_sim.engines.shell._live import LiveShell

MOST_IDLE = 4
"""Of all kinds together: each has about 15 open files and half a megabyte."""

_idle: list[tuple[Hashable, LiveShell]] = []


def take(kind: Hashable, new: Callable[[], LiveShell]) -> LiveShell:
    """A machine of a kind, with the files of whichever world it had before; `new` makes the first."""
    for one in reversed(_idle.copy()):
        if one[0] == (os.getpid(), kind):
            try:
                _idle.remove(one)
            except ValueError:
                # Another thread was faster.
                continue
            return one[1]
    return new()


def give_back(kind: Hashable, machine: LiveShell) -> None:
    """Keeps a machine, or frees it where another world could see that it was not the first."""
    if not machine.retire():
        machine.close()
        return
    _idle.append(((os.getpid(), kind), machine))
    if len(_idle) > MOST_IDLE:
        _idle.pop(0)[1].close()
