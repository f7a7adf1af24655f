"""Which tasks are kept for evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from agentworld_sim.errors import UsageError
from agentworld_trainers.data._source import Split

RANGE = 2**64
"""Numbers that are `drawn` are below it."""


def drawn(seed: int, *names: str) -> int:
    """A number below 2^64 that depends on the seed and the names alone."""
    text = "\0".join((str(seed), *names))
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest)


def split_of(
    tasks: Iterable[tuple[str, Split | None]], *, held_out: float, seed: int
) -> dict[str, Split]:
    """The side of each task.

    A task that the source does not place is held out when a hash of its name and the seed lies below
    the share: what is added later moves no other task. Where that leaves one side empty although there
    are several tasks to place, the task with the lowest (or highest) hash changes sides.

    Args:
        tasks: Names, with the side that the source gives them.
        held_out: Share of the tasks without a side that is kept for evaluation.
        seed: Of the recipe.

    Raises:
        UsageError: a source places one task on both sides.
    """
    placed: dict[str, Split] = {}
    free: dict[str, None] = {}
    for task, split in tasks:
        if split is None:
            free[task] = None
        elif placed.setdefault(task, split) != split:
            raise UsageError(
                f"the source places the task {task!r} both in train and in test. A task is on one"
                " side: give the two other names, or let a hash decide (split=None)."
            )
    free = {task: None for task in free if task not in placed}
    ranked = sorted(free, key=lambda task: (drawn(seed, "split", task), task))
    found: dict[str, Split] = dict(placed)
    for task in ranked:
        below = drawn(seed, "split", task) < held_out * RANGE
        found[task] = "test" if below else "train"
    if len(ranked) > 1 and 0 < held_out < 1:
        if "test" not in found.values():
            found[ranked[0]] = "test"
        elif "train" not in found.values():
            found[ranked[-1]] = "train"
    return found
