"""Training in processes of their own, which are killed, run out of disk, or go on."""

from __future__ import annotations

import multiprocessing
import signal
from typing import Any

from agentworld_trainers.recipes import Recipe
from tests.trainers.stages.trained import train


def run(
    recipe: Recipe, *, kill_after: float | None = None, full_after: int | None = None
) -> list[Any]:
    """Trains in a process and returns what it said: its steps, and how it ended.

    Args:
        recipe: What is trained.
        kill_after: How many steps of its own, and what fraction of one, the process lives.
        full_after: The step after which the disk is full.
    """
    # Processes come up with torch imported, from a server that has never computed anything.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.trainers.stages.trained"])
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=train, args=(recipe, there, kill_after, full_after))
    process.start()
    there.close()
    said: list[Any] = []
    try:
        while True:
            said.append(here.recv())
    except EOFError:
        process.join()
    if kill_after is not None:
        assert process.exitcode == -signal.SIGALRM, said
    return said
