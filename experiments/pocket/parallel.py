"""Work on many independent things, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, TypeVar

_Thing = TypeVar("_Thing")
_Result = TypeVar("_Result")

_CHUNK: Final = 64
_FEW: Final = 512
"""To start a process takes as long as some dozens of sessions."""


def in_processes(
    work: Callable[[Sequence[_Thing]], list[_Result]], things: Sequence[_Thing]
) -> Iterator[_Result]:
    """The results in the order of the things; a few things are worked on in this process.

    Args:
        work: A function of a module, which another process can import.
        things: What it is called with, some at a time.
    """
    chunks = [things[at : at + _CHUNK] for at in range(0, len(things), _CHUNK)]
    if len(things) < _FEW:
        for chunk in chunks:
            yield from work(chunk)
        return
    # Not by fork: this process may have threads, of torch for example.
    pool = ProcessPoolExecutor(mp_context=get_context("spawn"))
    try:
        for results in pool.map(work, chunks):
            yield from results
    finally:
        pool.shutdown(cancel_futures=True)
