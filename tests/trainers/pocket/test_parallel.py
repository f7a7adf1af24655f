"""Work on many things on all cores."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from experiments.pocket.parallel import in_processes


def named(things: Sequence[int]) -> list[tuple[int, int]]:
    """Each thing, and the process that worked on it."""
    return [(thing, os.getpid()) for thing in things]


def refused(things: Sequence[int]) -> list[int]:
    if 700 in things:
        raise ValueError("700 is not worked on")
    return list(things)


@pytest.mark.parametrize("count", [0, 1, 511, 512, 1000])
def test_results_come_in_the_order_of_the_things(count: int) -> None:
    assert [thing for thing, _ in in_processes(named, range(count))] == list(range(count))


def test_a_few_are_worked_on_here_and_many_elsewhere() -> None:
    assert {process for _, process in in_processes(named, range(100))} == {os.getpid()}
    assert os.getpid() not in {process for _, process in in_processes(named, range(1000))}


def test_what_another_process_raises_is_raised_here() -> None:
    with pytest.raises(ValueError, match="700 is not worked on"):
        list(in_processes(refused, range(1000)))
