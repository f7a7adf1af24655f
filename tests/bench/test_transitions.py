"""Recordings as transitions, and who may learn from which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.errors import UsageError


def test_the_state_before_a_call_is_what_the_calls_before_it_left(shop: TransitionSet) -> None:
    befores = [one.before["orders"] for one in shop.transitions()]
    assert [sorted(orders) for orders in befores] == [["4711"], *[["4711", "8154"]] * 4]
    assert [orders["4711"]["status"] for orders in befores] == [*["open"] * 3, *["closed"] * 2]
    assert [one.fields_changed for one in shop.transitions()] == [3, 0, 1, 0, 3]


def test_sides_are_disjoint_by_task_and_by_tool(recording: Callable[..., Path]) -> None:
    found = TransitionSet.load([recording(*(f"task_{number}" for number in range(200)))])
    by_side = {side: list(found.transitions(side)) for side in ("train", "known", "unseen")}
    tasks = {
        side: {one.session.task for one in held}
        for side, held in by_side.items()
        if side != "unseen"
    }
    assert tasks["train"] & tasks["known"] == set()
    tools = {side: {one.truth.call.name for one in held} for side, held in by_side.items()}
    assert tools["unseen"] & (tools["train"] | tools["known"]) == set()
    assert sum(map(len, by_side.values())) == 1000


def test_variants_of_one_task_are_on_one_side(recording: Callable[..., Path]) -> None:
    found = TransitionSet.load([recording("base_7", "long_context_7")])
    first, second = ([one.side for one in session.transitions()] for session in found.sessions)
    assert first == second


Damage = Callable[[str], str]
CUT: Damage = lambda text: text[:-40]
LOST: Damage = lambda text: text.replace('"first", "turns"', '"last", "turns"')
TWICE: Damage = lambda text: text + text.splitlines()[-1] + "\n"


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (CUT, "line 5"),
        (LOST, "KeyError"),
        (TWICE, "two sessions are called 'task_1'"),
    ],
)
def test_a_file_that_is_no_recording_is_named(
    recording: Callable[..., Path], damage: Damage, said: str
) -> None:
    path = recording("task_1")
    path.write_text(damage(path.read_text()))
    with pytest.raises(UsageError, match=said):
        TransitionSet.load([path])
