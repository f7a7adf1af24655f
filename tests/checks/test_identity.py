"""`IdentityCheck`: what has an id keeps its fields unless something wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.checks import IdentityCheck
from agentworld_sim.types.turns import Turn

from .judging import judged, turn

ANN = {
    "id": 7,
    "name": "Ann",
    "email": "ann@example.org",
    "created_at": "2024-03-01T00:00:00Z",
    "updated_at": "2024-03-02T00:00:00Z",
    "status": "active",
    "login_count": 4,
    "balance": 10.5,
}
BOB = {"id": 8, "name": "Bob", "email": "bob@example.org"}


def seen(*values: Any, name: str = "get_user", **arguments: Any) -> list[Turn]:
    return [turn(name, arguments, json.dumps(value)) for value in values]


def said(
    value: Any, history: Sequence[Turn], name: str = "get_user", **arguments: Any
) -> str | None:
    as_text = judged(IdentityCheck(), name, arguments, json.dumps(value), history=history)
    structured = judged(IdentityCheck(), name, arguments, "", structured=value, history=history)
    assert as_text == structured
    return as_text


def changed(**fields: Any) -> Mapping[str, Any]:
    return {**ANN, **fields}


def test_the_same_object_again_is_accepted() -> None:
    assert said(ANN, seen(ANN, BOB)) is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "Anna"}, "'name' of id '7' is 'Anna' here and was 'Ann'"),
        ({"email": "a@b.c"}, "'email' of id '7' is 'a@b.c' here and was 'ann@example.org'"),
        (
            {"created_at": "2023"},
            "'created_at' of id '7' is '2023' here and was '2024-03-01T00:00:00Z'",
        ),
    ],
)
def test_another_field_is_refused_with_both_values(fields: dict[str, Any], reason: str) -> None:
    expected = f"{reason} in an earlier answer of 'get_user', and nothing wrote it"
    assert said(changed(**fields), seen(ANN)) == expected
    assert said({"user": changed(**fields)}, seen({"data": [BOB, ANN]})) == expected
    assert said(changed(**fields), seen({"users": [ANN]}, name="list_users")) == expected.replace(
        "get_user", "list_users"
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"updated_at": "2025"},
        {"status": "away"},
        {"login_count": 5},
        {"balance": 11.0},
        {"last_login": "now"},
        {"email": None},
        {"name": "A…"},
        {"name": " Ann"},
        {"city": "Bonn"},
    ],
)
def test_fields_that_change_by_themselves_or_are_written_otherwise_are_passed_over(
    fields: dict[str, Any],
) -> None:
    assert said(changed(**fields), seen(ANN)) is None


@pytest.mark.parametrize(
    "between",
    [
        turn("update_user", {"id": 7, "name": "Anna"}),
        turn("delete_user", {}),
        turn("apply", {"target": "7"}),
        turn("import_users", {"file": "x"}),
        turn("execute_sql", {"sql": "update users set name = 'Anna'"}),
        turn("bash", {"command": "psql"}),
    ],
    ids=lambda one: one.call.name,
)
def test_after_a_call_that_may_have_written_it_anything_goes(between: Turn) -> None:
    assert said(changed(name="Anna"), [*seen(ANN), between]) is None


def test_a_write_of_something_else_excuses_nothing() -> None:
    between = turn("send_mail", {"to": "ann", "text": "hello"})
    assert said(changed(name="Anna"), [*seen(ANN), between]) is not None


def test_the_latest_answer_counts() -> None:
    history = [*seen(ANN), turn("update_user", {"id": 7}), *seen(changed(name="Anna"))]
    assert said(changed(name="Anna"), history) is None
    assert said(ANN, history) is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("get_order", {"id": 7, "name": "Anna", "email": "x"}),
        ("get_user", {"team": {"id": 7, "name": "Red", "email": "x"}}),
        ("get_user", {"id": 9, "name": "Anna", "email": "x"}),
        ("get_user", {"id": 7, "colour": "red", "shape": "round"}),
        ("update_user", {"id": 7, "name": "Anna", "email": "x"}),
        ("get_user", [{"id": 7, "name": "Anna"}, {"id": 7, "name": "Annabel"}]),
        ("get_user", "no object"),
        ("get_user", {"name": "Anna"}),
        ("get_user", {"id": None, "name": "Anna"}),
    ],
)
def test_what_may_be_another_thing_is_not_compared(name: str, value: Any) -> None:
    assert said(value, seen(ANN), name) is None


def test_another_scope_is_not_compared() -> None:
    issue = {"number": 3, "title": "Crash", "author": "ann"}
    other = {**issue, "title": "Typo"}
    history = seen(issue, name="get_issue", repo="a", number=3)
    assert said(other, history, "get_issue", repo="b", number=3) is None
    assert said(other, history, "get_issue", repo="a", number=3) is not None
    assert said([other], history, "list_issues", repo="a", state="open") is not None


@pytest.mark.parametrize(
    ("object_", "field"),
    [
        ({"uuid": "ab-1", "name": "x"}, "name"),
        ({"order_id": "o1", "customer": "x"}, "customer"),
        ({"orderId": "o1", "customer": "x"}, "customer"),
        ({"key": "PROJ-1", "title": "x"}, "title"),
        ({"number": 12, "title": "x"}, "title"),
    ],
)
def test_ids_have_many_names(object_: dict[str, Any], field: str) -> None:
    assert said({**object_, field: "y"}, seen(object_)) is not None
    assert said(object_, seen(object_)) is None


def test_an_order_that_begins_with_its_customers_id_is_no_customer() -> None:
    mirror = {"customer_id": "ann", "article": "mirror", "size": "L", "order_id": "ORD-1"}
    desk = {**mirror, "article": "desk", "order_id": "ORD-2"}
    history = seen([mirror], name="list_orders")
    assert said(desk, history, "get_order") is None
    problem = said({**mirror, "article": "desk"}, history, "get_order")
    assert problem is not None
    assert "'article' of order_id 'ORD-1'" in problem


def test_a_setting_with_a_key_is_no_object_with_an_id() -> None:
    assert said({"key": "colour", "text": "red"}, seen({"key": "colour", "text": "blue"})) is None


def test_errors_and_enforced_answers_are_no_evidence() -> None:
    text = json.dumps(ANN)
    for earlier in (
        turn("get_user", {}, text, is_error=True),
        turn("get_user", {}, text, provenance="enforced"),
    ):
        assert said(changed(name="Anna"), [earlier]) is None
    shown = json.dumps(changed(name="Anna"))
    assert judged(IdentityCheck(), "get_user", {}, shown, is_error=True, history=seen(ANN)) is None


def test_deep_and_broken_json_is_left_alone() -> None:
    for text in ("[" * 100_000, '{"id": 7, "name": ', "{" * 10):
        assert judged(IdentityCheck(), "get_user", {}, text, history=seen(ANN)) is None


def test_a_huge_answer_is_compared() -> None:
    rows = [{"id": n, "name": f"name {n}", "city": "Bonn"} for n in range(20_000)]
    history = seen(rows, name="list_users")
    assert said(rows, history, "list_users") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "name", "key", "users", "a", "b"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_an_answer_never_disagrees_with_itself(value: Any) -> None:
    assert said(value, seen(value)) is None
