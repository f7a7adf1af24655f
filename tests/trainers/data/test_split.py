"""Tasks on two sides, and near-duplicates."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_trainers.data._duplicates import Duplicates, Sketch
from agentworld_trainers.data._source import Split
from agentworld_trainers.data._stage_rows import split_of

TASKS = st.lists(st.text(max_size=8), min_size=2, max_size=30, unique=True)


def sides(tasks: list[str], held_out: float = 0.2, seed: int = 0) -> dict[str, Split]:
    return split_of([(task, None) for task in tasks], held_out=held_out, seed=seed)


@given(TASKS, st.floats(0.01, 0.99), st.integers(0, 9))
def test_the_side_depends_on_name_and_seed_alone_and_both_sides_have_tasks(
    tasks: list[str], held_out: float, seed: int
) -> None:
    found = sides(tasks, held_out, seed)
    assert found == sides(list(reversed(tasks)), held_out, seed)
    assert set(found.values()) == {"train", "test"}


def test_a_share_of_the_tasks_is_held_out_and_new_tasks_move_no_other() -> None:
    tasks = [f"task {number}" for number in range(2_000)]
    found = sides(tasks)
    assert 340 < sum(side == "test" for side in found.values()) < 460
    assert sides(tasks[:1_000]) == {task: found[task] for task in tasks[:1_000]}
    assert sides(tasks, seed=1) != found


def test_nothing_or_everything_can_be_held_out() -> None:
    assert set(sides(["a", "b"], 0.0).values()) == {"train"}
    assert set(sides(["a", "b"], 1.0).values()) == {"test"}


def test_a_source_can_fix_the_side_and_not_two() -> None:
    given_sides: list[tuple[str, Split | None]] = [("a", "test"), ("b", "train"), ("a", None)]
    assert split_of(given_sides, held_out=0.0, seed=0) == {"a": "test", "b": "train"}
    with pytest.raises(UsageError, match="'a' both in train and in test"):
        split_of([*given_sides, ("a", "train")], held_out=0.0, seed=0)


WORDS = st.lists(st.sampled_from([f"w{n}" for n in range(30)]), max_size=80)


@given(WORDS, WORDS)
def test_a_sketch_of_two_texts_is_that_of_their_runs_together(
    one: list[str], two: list[str]
) -> None:
    first, second = Sketch.of(" ".join(one)), Sketch.of(" ".join(two))
    both = first | second
    assert both == second | first
    assert both | first == both
    assert first.similarity(first) == 1.0
    assert first.similarity(second) == second.similarity(first)


def test_similarity_is_near_the_jaccard_index() -> None:
    chance = Random(0)
    for common in (0, 50, 100, 180, 200):
        shared = [f"s{chance.random()}" for _ in range(common)]
        apart = [[f"a{chance.random()}" for _ in range(200 - common)] for _ in range(2)]
        none = Sketch.of("")
        one, two = none, none
        for word in (*shared, *apart[0]):
            one |= Sketch.of(word)
        for word in (*shared, *apart[1]):
            two |= Sketch.of(word)
        assert abs(one.similarity(two) - common / (400 - common)) < 0.15


def text(*changed: int, length: int = 400) -> str:
    return " ".join(f"{'x' if n in changed else 'w'}{n}" for n in range(length))


def test_what_is_nearly_the_same_in_both_parts_is_found() -> None:
    none = Sketch.of("")
    found = Duplicates(0.9)
    assert found.add(Sketch.of(text()), none, "first") is None
    assert found.add(Sketch.of(text(7)), none, "one word changed") == "first"
    assert found.add(Sketch.of(text(*range(0, 400, 9))), none, "many changed") is None
    other = Sketch.of("quite another beginning of the session")
    assert found.add(Sketch.of(text()), other, "after something else") is None
    assert found.add(Sketch.of(text(3)), other, "the same again") == "after something else"
    assert found.add(Sketch.of(text()), none, "by other rules", kind=b"x") is None


def test_short_texts_that_differ_in_a_word_are_not_the_same() -> None:
    none = Sketch.of("")
    found = Duplicates(0.9)
    for number in range(50):
        assert found.add(Sketch.of(f"cat /srv/{number}.txt\nhello"), none, str(number)) is None
    assert found.add(Sketch.of("cat /srv/7.txt\nhello"), none, "again") == "7"
    assert found.add(none, none, "nothing") is None
    assert found.add(none, none, "nothing again") == "nothing"
