"""In which order rows are trained on. A function of the seed alone, so that training can be taken up again
at the next row that it has not seen."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

_WINDOW = 16
"""Batches among which rows are sorted by length: more waste less padding and mix less."""


def row_order(lengths: Sequence[int], *, steps: int, batch_size: int, seed: int) -> list[int]:
    """The rows of all optimiser steps, one batch after the other.

    Every row is seen once before any is seen twice. Rows of one batch are about equally long, so that
    little is padded; which batch comes when has nothing to do with its length.

    Args:
        lengths: Tokens of each row.
        steps: Optimiser steps.
        batch_size: Rows of one.
        seed: Of the order.

    Returns:
        `steps * batch_size` numbers of rows.
    """
    shuffling = random.Random(f"rows/{seed}")
    stream = _epochs(len(lengths), shuffling)
    order: list[int] = []
    while len(order) < steps * batch_size:
        window = [next(stream) for _ in range(_WINDOW * batch_size)]
        window.sort(key=lambda row: lengths[row])
        batches = [window[at : at + batch_size] for at in range(0, len(window), batch_size)]
        shuffling.shuffle(batches)
        for batch in batches:
            order += batch
    return order[: steps * batch_size]


def _epochs(rows: int, shuffling: random.Random) -> Iterator[int]:
    while True:
        epoch = list(range(rows))
        shuffling.shuffle(epoch)
        yield from epoch
