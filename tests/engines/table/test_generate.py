"""Values that are made up fit their schemas, and are the same in every process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.table.generate import Maker, text_for
from agentworld_sim.engines.table.initial_rows import initial_records
from agentworld_sim.engines.table.operation import Plan
from agentworld_sim.engines.table.plausible import SeededRandom
from agentworld_sim.relational.layout import Table
from agentworld_sim.schema.validate import schema_problem
from tests.properties import examples

CLOCK_US = 1_770_000_000_000_000

NAMES = st.sampled_from(
    "id title name email url created_at due_date state status price count tags author user_id phone"
    " address path sha version is_open x country slug createdAt timestamp".split()
)

SCALARS: tuple[Mapping[str, Any], ...] = (
    {"type": "boolean"},
    {"type": "null"},
    {"enum": ["a", 1, None]},
    {"const": {"a": [1]}},
    {"type": ["string", "null"]},
    {"type": "string", "pattern": "^[A-Z]{2,4}-\\d+$"},
    {"type": "string", "pattern": "^#(?:[0-9a-f]{3}){1,2}$"},
    {"$ref": "#/$defs/point"},
    {},
    *(
        {"type": "string", "format": style}
        for style in ("date-time", "date", "email", "uri", "uuid", "ipv4", "hostname", "time")
    ),
)


@st.composite
def scalars(draw: st.DrawFn) -> Mapping[str, Any]:
    low, span = draw(st.integers(-1000, 1000)), draw(st.integers(0, 50))
    whole = draw(st.sampled_from(["integer", "number"]))
    made: list[Mapping[str, Any]] = [
        {"type": "string", "minLength": span, "maxLength": span + 3},
        {"type": whole, "minimum": low, "maximum": low + span},
        {"type": "integer", "multipleOf": span + 1},
        {"type": "integer", "exclusiveMinimum": low},
    ]
    return draw(st.sampled_from([*made, *SCALARS]))


@st.composite
def schemas(draw: st.DrawFn, depth: int = 3) -> Mapping[str, Any]:
    kinds = ["object", "array", "nullable", "allOf"] if depth else []
    kind = draw(st.sampled_from(["scalar", *kinds]))
    if kind == "scalar":
        return draw(scalars())
    if kind == "object":
        names = draw(st.lists(NAMES, max_size=4, unique=True))
        properties = {name: draw(schemas(depth - 1)) for name in names}
        closed = {"additionalProperties": False} if draw(st.booleans()) else {}
        return {"type": "object", "properties": properties, "required": names[::2], **closed}
    inner = draw(schemas(depth - 1))
    if kind == "array":
        return {"type": "array", "items": inner, "minItems": draw(st.integers(0, 3))}
    if kind == "nullable":
        return {"anyOf": [{"type": "null"}, inner]}
    return {"allOf": [inner, {"description": "both"}]}


DEFS: Mapping[str, Any] = {
    "point": {
        "type": "object",
        "properties": {"x": {"type": "number"}, "next": {"$ref": "#/$defs/point"}},
        "required": ["x"],
    }
}


@settings(max_examples=examples(300), deadline=None)
@given(schema=schemas(), name=NAMES, seed=st.integers(0, 99), new=st.booleans())
def test_a_value_fits_its_schema(schema: Any, name: str, seed: int, new: bool) -> None:
    whole = {"$defs": DEFS, "allOf": [schema]}
    maker = Maker(draw=SeededRandom(seed), clock_us=CLOCK_US, roots=(whole,), new=new)
    value = maker.value(schema, name, about="tickets")
    assert schema_problem(whole, value) is None
    assert maker.value(schema, name, about="tickets") == value


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z]+$",
        "^ENG-[0-9]{1,5}$",
        "^(red|green)-\\w{4}$",
        "^\\d{3}-\\d{4}(-x)?$",
        "^[^\\s@]+@[^\\s@]+\\.[a-z]{2,}$",
        "^v?\\d+\\.\\d+\\.\\d+$",
        "^[A-Za-z0-9_-]{11}$",
        "^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$",
        "^projects/[^/]+/locations/.*$",
        "abc",
        "^$",
        "^\\u0041+$",
        "^[\\w.-]+/[\\w.-]+$",
    ],
)
def test_a_text_fits_its_pattern(pattern: str) -> None:
    for seed in range(20):
        text = text_for(pattern, SeededRandom(seed))
        assert text is not None and re.search(pattern, text), (pattern, text)


@given(st.text(max_size=30))
def test_a_pattern_nobody_understands_is_no_crash(pattern: str) -> None:
    text = text_for(pattern, SeededRandom(1))
    assert text is None or re.search(pattern, text)


USERS = Table(
    name="users",
    key=("login",),
    fields={name: {"type": "string"} for name in ("login", "name", "email")},
)
ORDERS = Table(
    name="orders",
    key=("id",),
    fields={
        "id": {"type": "string", "format": "uuid"},
        "user_id": {"type": "string"},
        "approved_by": {"type": "string"},
        "total": {"type": "number"},
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
        "shipped": {"type": "boolean"},
        "cancelled_at": {"type": ["string", "null"], "format": "date-time"},
    },
)
LINES = Table(
    name="lines",
    key=("id",),
    scope=("order_id",),
    parents={"order_id": "orders.id"},
    fields={"id": {"type": "integer"}, "quantity": {"type": "integer", "minimum": 1}},
)
PLAN = Plan(tables={"orders": ORDERS, "users": USERS, "lines": LINES})


def records(table: Table, plan: Plan = PLAN, seed: int = 3) -> list[Mapping[str, Any]]:
    return [one.record for one in initial_records(plan, table, seed=seed, clock_us=CLOCK_US)]


def test_records_refer_to_each_other() -> None:
    logins = {user["login"] for user in records(USERS)}
    orders = records(ORDERS)
    assert len(logins) == 5
    assert {order["user_id"] for order in orders} <= logins
    assert {line["order_id"] for line in records(LINES)} <= {order["id"] for order in orders}


def test_times_are_before_the_worlds_and_in_order() -> None:
    orders = records(ORDERS)
    made = [order["created_at"] for order in orders]
    assert made == sorted(made)
    assert all(order["created_at"] <= order["updated_at"] < "2026-02-02" for order in orders)
    assert {order["cancelled_at"] for order in orders} == {None}


def test_the_email_of_a_person_is_theirs() -> None:
    table = Table(name="people", fields={"name": {"type": "string"}, "email": {"type": "string"}})
    for person in records(table, Plan(tables={"people": table})):
        assert person["email"] == f"{person['name'].replace(' ', '.').lower()}@example.com"


def test_a_table_without_readable_fields_begins_empty() -> None:
    table = Table(name="things")
    assert records(table, Plan(tables={"things": table})) == []


def test_records_of_the_scenario_get_what_they_lack() -> None:
    table = Table(
        name="tasks",
        fields={
            "id": {"type": "integer"},
            "title": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "done"]},
        },
        required=("id", "title", "state"),
        records=({"title": "one"}, {"id": 7, "title": "two", "state": "done"}, {"title": "three"}),
    )
    assert records(table, Plan(tables={"tasks": table})) == [
        {"title": "one", "id": 8, "state": "open"},
        {"id": 7, "title": "two", "state": "done"},
        {"title": "three", "id": 9, "state": "open"},
    ]


_SHOW = """
import json
from tests.engines.table.test_generate import LINES, ORDERS, USERS, records
print(json.dumps([records(table) for table in (USERS, ORDERS, LINES)]))
"""


def test_another_process_makes_up_the_same_records() -> None:
    shown = [
        subprocess.run(
            [sys.executable, "-c", _SHOW],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert shown[0] == shown[1] != ""


def test_another_seed_makes_up_others() -> None:
    assert records(ORDERS) != records(ORDERS, seed=4)
