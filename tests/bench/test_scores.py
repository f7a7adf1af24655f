"""Scores of predictions: what counts as right, and what may not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.bench.scores import ChanceMatcher, contradicts, form_of, score
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


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("https://a.example/v2/orders/311?page=2", "https://b.example/v1/items/904?size=7", "http://a.example/v2/orders/311?page=2"),
        ("https://a.example/o/6f0f2c3e-9a51-4f0c-8d6e-2b7f1c9d4a10", "https://a.example/o/11111111-2222-4333-8444-555555555555", "https://a.example/o/6f0f2c3e"),
        ("ftp://a.example/x.csv", "ftp://files.b.example/report.pdf", "/x.csv"),
        ("3354 bytes", "79 bytes", "3354"),
        ("3.28 KB", "120.07 KB", "3.3 KB"),
        ("4K", "120K", "4.0K"),
        ("$1,234.50", "$9.99", "$9.9"),
        ("$9.99", "$120.00", "€9.99"),
        ("120.00 EUR", "7.50 USD", "120.00"),
        ("2026-03-30", "1999-12-01", "30.03.2026"),
        ("2026-03-30T08:12:01Z", "2027-01-02T23:59:59Z", "2026-03-30 08:12:01"),
        ("2026-03-30T08:12:01Z", "2027-01-02T23:59:59Z", "2026-03-30T08:12:01+02:00"),
        ("10:30 AM", "11:15 PM", "22:30"),
        ("ada.lind@mail.example", "m@x.co", "@ada"),
        ("d184e2c0-2ebb-4f39-a525-d5e01b67dc6c", "00000000-0000-4000-8000-000000000001", "d184e2c0"),
        ("9f86d08", "1a2b3c4", "9f86d081884c7d65"),
        ("CXBB4L", "8C3X2Q", "cxbb4l"),
        ("ORD-1041", "ABC-2000", "ORD-104"),
        ("4711", "8154", "815"),
        ("#W1092119", "#W1242543", "W1092119"),
        ("/srv/app/a.txt", "/var/log/b.log", "a.txt"),
    ],
)  # fmt: skip
def test_forms_of_real_texts(one: str, same: str, other: str) -> None:
    assert form_of(one) == form_of(same)
    assert form_of(one) != form_of(other)


def test_an_answer_that_contradicts_its_own_state_is_counted(shop: TransitionSet) -> None:
    shown = list(shop.transitions())[1]
    for answer, expected in (
        (OLD, False),
        ({"order_id": "4711"}, False),
        ({**OLD, "status": "closed"}, True),
        ([NEW, {**OLD, "article": "pan"}], True),
        ({"found": {**OLD, "article": "pan"}}, True),
        ({**OLD, "order_id": "1", "article": "pan"}, False),
    ):
        assert score(shown, json.dumps(answer), False, {}).contradicts == expected


def test_an_object_is_held_against_the_record_it_has_most_in_common_with() -> None:
    tables = {
        "orders": {"7": {"order": "7", "customer": "ann", "note": "gift"}},
        "customers": {"ann": {"customer": "ann", "note": "pays late", "city": "Bern"}},
    }
    keys = {"orders": "order", "customers": "customer"}
    assert not contradicts(tables["orders"]["7"], tables, keys)
    assert contradicts({"order": "7", "customer": "ann", "note": "pays late"}, tables, keys)


def test_line_ends_after_a_text_make_no_difference(shop: TransitionSet) -> None:
    closed = list(shop.transitions())[-1]
    assert score(closed, "gone\n", False, closed.truth.changes).right
    assert not score(closed, "gone ", False, closed.truth.changes).right
