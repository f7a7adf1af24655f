"""Scores of predictions: what counts as right, and what may not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.bench.scores import ChanceMatcher, form_of, score
from agentworld_sim.bench.transitions import TransitionSet
from tests.bench.conftest import NEW, OLD

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_is_itself(value: Any) -> None:
    assert ChanceMatcher(frozenset()).same(value, json.loads(json.dumps(value)))
    assert form_of(value) == form_of(value)


@given(VALUES, VALUES)
def test_nothing_else_is_it(one: Any, other: Any) -> None:
    assert ChanceMatcher(frozenset()).same(one, other) == (
        json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    )


def test_the_truth_is_right(shop: TransitionSet) -> None:
    for transition in shop.transitions():
        truth = transition.truth
        found = score(transition, truth.observation.text, truth.observation.is_error, truth.changes)
        assert found.right
        assert found.text
        assert found.form
        assert not found.silent


def answer(number: str, **more: Any) -> tuple[str, dict[str, Any]]:
    record = {**NEW, "order_id": number, **more}
    return json.dumps(record), {"orders": {number: record}}


OPENED, CLOSED = 0, 2


def test_what_was_drawn_by_chance_may_be_another_of_its_form(shop: TransitionSet) -> None:
    opened = list(shop.transitions())[OPENED]
    text, changes = answer("9999")
    assert score(opened, text, False, changes).right
    for number in ("99999", "abcd"):
        text, changes = answer(number)
        assert not score(opened, text, False, changes).value


def test_what_was_drawn_by_chance_is_the_same_in_answer_and_state(shop: TransitionSet) -> None:
    opened = list(shop.transitions())[OPENED]
    found = score(opened, answer("9999")[0], False, answer("8888")[1])
    assert (found.value, found.state, found.silent) == (True, False, True)


def _closed(**more: Any) -> dict[str, Any]:
    return {**OLD, "status": "closed", **more}


@pytest.mark.parametrize(
    ("text", "failed", "changes", "value", "state"),
    [
        ("fine", False, {"orders": {"4711": _closed()}}, False, True),
        (json.dumps(_closed()), False, {}, True, False),
        (json.dumps(_closed()), False, {"orders": {"4711": _closed(note="x")}}, True, False),
        (json.dumps(_closed()), False, {"orders": {"4711": None}}, True, False),
        (json.dumps(_closed()), False, {"orders": {"4711": _closed(), "1": NEW}}, True, False),
        (json.dumps(_closed()), True, {"orders": {"4711": _closed()}}, False, True),
        (json.dumps(_closed(), indent=1), False, {"orders": {"4711": _closed()}}, True, True),
    ],
)
def test_wrong_answers_and_wrong_states_are_told_apart(
    shop: TransitionSet, text: str, failed: bool, changes: dict[str, Any], value: bool, state: bool
) -> None:
    closed = list(shop.transitions())[CLOSED]
    found = score(closed, text, failed, changes)
    assert (found.value, found.state, found.silent) == (value, state, value != state)


def test_forms_see_how_ids_and_urls_are_written() -> None:
    assert form_of("ORD-17") == form_of("ABC-23") != form_of("ord_17")
    assert form_of("https://a.example/x1") == form_of("https://b.example/y2") != form_of("/x1")
    assert form_of("two words") == form_of("word")
    assert (
        form_of({"a": 1, "b": [True]})
        == form_of({"b": [False], "a": 2.5})
        != form_of({"a": "1", "b": []})
    )
