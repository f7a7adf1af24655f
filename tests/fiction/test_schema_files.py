"""Schemas of plain data: what is wrong is named, and what cannot be satisfied is said once."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.schema_files import family_names, read_family, read_schema

SHIPS: dict[str, Any] = {
    "name": "ships",
    "about": "Ships and their voyages.",
    "tables": [
        {
            "name": "ships",
            "noun": ["ship", "ships"],
            "title": "name",
            "columns": [
                {"name": "name", "type": "text", "label": "Name", "unique": True, "make": {"name": "place"}},
                {"name": "built", "type": "date", "label": "Built", "make": {"between": ["1990-01-01", "2010-12-31"]}},
                {"name": "length", "type": "integer", "label": "Length", "unit": "m", "make": {"between": [20, 300]}},
            ],
        },
        {
            "name": "voyages",
            "noun": ["voyage", "voyages"],
            "columns": [
                {"name": "ship", "type": "integer", "label": "Ship", "references": "ships", "make": {"pick": "zipf"}},
                {"name": "sailed", "type": "date", "label": "Sailed", "make": {"between": ["ship.built", "today"]}},
                {"name": "days", "type": "integer", "label": "Days", "make": {"between": [1, 90]}},
                {"name": "arrived", "type": "date", "label": "Arrived", "make": {"sql": "date(voyages.sailed, voyages.days || ' days')"}},
            ],
        },
    ],
    "rules": [
        {
            "says": "no two voyages of a ship at a time",
            "table": "voyages",
            "none": "select a.id from voyages a join voyages b on a.ship = b.ship and a.id > b.id"
            " and a.sailed <= b.arrived and b.sailed <= a.arrived",
        }
    ],
}  # fmt: skip


def changed(*place: str | int, to: Any) -> dict[str, Any]:
    """The schema with another value at one place; `...` takes the key away."""
    data: Any = deepcopy(SHIPS)
    at = data
    for part in place[:-1]:
        at = at[part]
    if to is ...:
        del at[place[-1]]
    else:
        at[place[-1]] = to
    return data


NAME, BUILT, LENGTH = (("tables", 0, "columns", number) for number in range(3))
SHIP, SAILED, DAYS, ARRIVED = (("tables", 1, "columns", number) for number in range(4))


def test_a_schema_of_plain_data_gives_worlds() -> None:
    fiction = Fiction.generate(FictionRecipe(family="ships", rows=60), read_schema(SHIPS))
    assert fiction.broken_rules() == []
    assert len(fiction.rows["voyages"]) == 30
    first = fiction.rows["voyages"][0]
    assert fiction.rows["ships"][first["ship"] - 1]["built"] <= first["sailed"] < first["arrived"]


@pytest.mark.parametrize("family", family_names())
def test_a_schema_that_ships_is_read_from_json_as_well(family: str) -> None:
    import yaml

    from agentworld_sim.fiction import schema_files

    text = (schema_files.FAMILIES / f"{family}.yaml").read_text(encoding="utf-8")
    data = json.loads(json.dumps({"name": family} | yaml.safe_load(text), default=str))
    assert read_schema(data) == read_family(family)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed("about", to=...), "about: it is missing"),
        (changed("colour", to="red"), "colour: Unexpected keyword argument"),
        (changed("kind", to="odd"), "kind: Input should be 'time_shifted'.*not 'odd'"),
        (changed("today", to="tomorrow"), "today: 'tomorrow' is no date"),
        (changed("tables", 0, "share", to=0), "tables.ships: share and least are more than 0"),
        (changed("tables", 0, "title", to="length"), "tables.ships.title: 'length' is no column of unique texts"),
        (changed(*LENGTH, "name", to="group"), "tables.ships: near \"group\": syntax error"),
        (changed(*LENGTH, "name", to="Full Length"), "tables.ships: 'Full Length' is no name of small letters"),
        (changed("tables", 1, "name", to="ships"), "tables.ships: there are two tables"),
        (changed(*LENGTH, "name", to="built"), "tables.ships.built: there are two columns"),
        (changed(*LENGTH, "name", to="id"), "tables.ships.id: there are two columns"),
        (changed(*LENGTH, "type", to="int"), "tables.ships.columns.length.type: Input should be 'text'"),
        (changed(*LENGTH, "make", to={"betwen": [1, 2]}), "length.make: it needs exactly one of between, after"),
        (changed(*LENGTH, "make", to={"between": [1]}), "length.make.between: "),
        (changed(*LENGTH, "make", to={"between": [9, 2]}), "length: nothing is between 9 and 2"),
        (changed(*LENGTH, "make", to={"between": [1, "2001-02-03"]}), r"length: \['2001-02-03'\] are not of the type integer"),
        (changed(*LENGTH, "make", to={"between": [0, 9], "shape": "log"}), "shape: orders of magnitude"),
        (changed(*LENGTH, "make", to={"between": [0, 9], "step": 0}), "step: it is 1 or more"),
        (changed(*LENGTH, "make", to={"between": [0, 9], "null": 0.5}), "length: it is empty at times, and not nullable"),
        (changed(*LENGTH, "make", to={"between": [0, float("inf")]}), "JSON compliant"),
        (changed(*LENGTH, "make", to={"one_of": ["long", 3]}), r"\['long'\] are not of the type integer"),
        (changed(*LENGTH, "make", to={"one_of": []}), "length: one_of: it has no values"),
        (changed(*LENGTH, "make", to={"name": "place"}), "length: Name makes no integer"),
        (changed(*LENGTH, "make", to={"times": "lenght", "by": [1, 2]}), "the path 'lenght': there is no column 'lenght'.* There are: name, built"),
        (changed(*LENGTH, "make", to={"after": "built", "by": [1, 2]}), "the path 'built' leads to a date, and the column is a integer"),
        (changed(*LENGTH, "make", to={"times": "name", "by": [1, 2]}), "the path 'name' leads to a text"),
        (changed(*SHIP, "make", "other_than", to="ship.built"), "there is no column 'ship'"),
        (changed(*LENGTH, "make", to={"times": "id", "by": [2, 1]}), "by: nothing is between 2.0 and 1.0"),
        (changed(*LENGTH, "make", to=...), r"tables.ships: \['length'\]: a column has a make, or is given"),
        (changed(*LENGTH, "asks", to={"more": "x"}), "asks: there is no comparison 'more'.*equal, at_least"),
        (changed(*NAME, "make", "name", to="plaec"), "no kind of name 'plaec'. Did you mean 'place'"),
        (changed(*SHIP, "references", to="ship"), "references: there is no table 'ship'. Did you mean 'ships'"),
        (changed(*SHIP, "references", to="voyages"), "refers to its own table, and is not nullable"),
        (changed(*SHIP, "make", to={"between": [1, 2]}), "ship: it refers to a table: its type is integer"),
        (changed(*SHIP, "make", "like", to={"size": "days"}), "like: there is no column 'size'.*name, built, length"),
        (changed(*SAILED, "make", "between", 0, to="ship.buit"), "the path 'ship.buit': there is no column 'buit'. Did you mean 'built'"),
        (changed(*SAILED, "make", "between", 0, to="ship.built.day"), "'built' refers to no table"),
        (changed(*DAYS, "make", to={"times": "arrived", "by": [1, 2]}), "there is no column 'arrived'"),
        (changed(*ARRIVED, "make", "sql", to="date(saild)"), "voyages.arrived: no such column: saild"),
        (changed(*ARRIVED, "make", "sql", to="date(current_date)"), "voyages.arrived: not authorized to use function: current_date"),
        (changed(*ARRIVED, "make", "sql", to="date('now')"), "voyages.arrived: 'now' is another day each time; the schema's `today` is 2026-03-02"),
        (changed("tables", 0, "checks", to={"chance": "random() > 0"}), "tables: .*random"),
        (changed("tables", 0, "given", to="delete from ships"), "ships.given: near \"delete\": syntax error"),
        (changed("tables", 0, "checks", to={"long enough": "size > 3"}), "tables: .*no such column: size"),
        (changed("tables", 1, "unique", to=[["ship", "day"]]), "voyages.unique: there is no column 'day'. Did you mean 'days'"),
        (changed("rules", 0, "none", to="drop table ships"), "rules.no two voyages of a ship at a time: near \"drop\""),
        (changed("rules", 0, "table", to="voyage"), "rules.no two .*no table 'voyage'. Did you mean 'voyages'"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_schema_is_named(data: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=f"(?s)the schema 'ships' cannot be used:\n.*{message}"):
        read_schema(data)


def test_every_problem_is_named_at_once() -> None:
    data = changed(*LENGTH, "make", to={"between": [9, 2]})
    data["tables"][1]["columns"][0]["references"] = "boats"
    data["rules"][0]["table"] = "trips"
    with pytest.raises(UsageError) as caught:
        read_schema(data)
    for part in ("nothing is between 9 and 2", "no table 'boats'", "no table 'trips'"):
        assert part in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.sampled_from([("tables",), ("tables", 0), NAME, (*LENGTH, "make"), (*SAILED, "make"), ("rules",), ("rules", 0)]),
)  # fmt: skip
def test_any_data_is_a_schema_or_refused(value: Any, place: tuple[str | int, ...]) -> None:
    try:
        read_schema(changed(*place, to=value))
    except UsageError as error:
        assert "cannot be used" in str(error)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (changed("tables", 0, "checks", to={"longer than long": "length > 300"}), "no row 1 of the table 'ships'.*60 draws: CHECK constraint failed: longer than long"),
        (changed(*LENGTH, "unique", to=True), "of the table 'ships'.*UNIQUE constraint failed: ships.length"),
        (changed(*SAILED, "make", "between", to=["today", "ship.built"]), "of the table 'voyages'.*NOT NULL constraint failed: voyages.sailed"),
        (changed("rules", 0, "none", to="select id from voyages where days < 200"), "row 1 of the table 'voyages'.*breaks the rule 'no two voyages"),
        (changed("rules", 0, to={"says": "ships are long", "none": "select id from ships where length < 301"}), "break the rule 'ships are long', which names no table"),
        (changed(*SAILED, "make", to={"after": "ship.built", "by": [9e6, 9e7]}), "table 'voyages', column 'sailed': "),
        (changed("rules", 0, "none", to="select 'one' from voyages"), "the rule 'no two voyages of a ship at a time' gives 'one', which is no key of the table 'voyages'"),
        (changed("rules", 0, "none", to="select abs(-9223372036854775808) from voyages"), "rule 'no two .*: integer overflow"),
        (changed(*LENGTH, "make", to={"between": [10**30, 10**31]}), "table 'ships': "),
        (changed(*ARRIVED, "make", "sql", to="null"), "NOT NULL constraint failed: voyages.arrived"),
        (changed("tables", 1, "checks", to={"it arrives": "arrived < sailed"}), "table 'voyages', computed column 'arrived': CHECK constraint failed: it arrives"),
    ],
    ids=["check", "unique", "range", "rule", "rule without table", "no date", "no key", "overflow", "too large", "computed", "computed check"],
)  # fmt: skip
def test_a_schema_that_cannot_be_satisfied_ends_in_one_error(
    data: dict[str, Any], message: str
) -> None:
    schema = read_schema(data)
    with pytest.raises(UsageError, match=f"family 'ships', seed 7: .*{message}"):
        Fiction.generate(FictionRecipe(family="ships", seed=7, rows=700), schema)
