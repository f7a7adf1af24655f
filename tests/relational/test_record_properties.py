"""Any sequence of statements does to the records what it does to a plain table of SQLite, at every point of history."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.table.keys import record_key
from agentworld_sim.relational.columns import table_definition
from agentworld_sim.relational.layout import Table, records_of_table
from agentworld_sim.relational.record_database import RecordDatabase, Statement
from agentworld_sim.relational.record_table import RecordConflict
from agentworld_sim.types.values import Values, apply_changes
from tests.properties import examples
from tests.relational.record_worlds import CLOCK_US, values_of

THINGS = Table(name="things", fields={"id": {}, "a": {"type": "string"}, "b": {}})
ALL = Statement(sql="SELECT * FROM things", reads=["things"])

NUMBERS = st.integers(0, 6)
CELLS = st.sampled_from(["NULL", "'x'", "'yé'", "3", "-1.5", "1e3", "''", "9007199254740993"])
TEXTS = st.sampled_from(["'x'", "'y'", "'O''Neil'", "'7'", "7"])
CONDITIONS = st.one_of(
    NUMBERS.map(lambda n: f"id = {n}"),
    NUMBERS.map(lambda n: f"id < {n}"),
    TEXTS.map(lambda text: f"a = {text}"),
    st.sampled_from(["b IS NULL", "b > 0", "1", "a IN (SELECT b FROM things)"]),
)
ROWS = st.lists(
    st.tuples(NUMBERS, TEXTS, CELLS).map(lambda row: f"({', '.join(map(str, row))})"),
    min_size=1,
    max_size=3,
)
STATEMENTS = st.one_of(
    st.tuples(st.sampled_from(["", " OR REPLACE", " OR IGNORE"]), ROWS).map(
        lambda one: f"INSERT{one[0]} INTO things (id, a, b) VALUES {', '.join(one[1])}"
    ),
    ROWS.map(
        lambda rows: (
            f"INSERT INTO things (id, a, b) VALUES {', '.join(rows)}"
            " ON CONFLICT (id) DO UPDATE SET b = excluded.b, a = things.a || '+'"
        )
    ),
    st.tuples(
        st.sampled_from(
            ["id = id + 1", "id = 10 - id", "a = a || 'z'", "b = id", "b = NULL, a = 'q'"]
        ),
        CONDITIONS,
    ).map(lambda one: f"UPDATE things SET {one[0]} WHERE {one[1]}"),
    CONDITIONS.map(lambda one: f"DELETE FROM things WHERE {one}"),
)
START = [{"id": number, "a": "x", "b": number, "kept": {"of": number}} for number in range(4)]


def rows_of(database: RecordDatabase, values: Mapping[str, Any]) -> list[Any]:
    return list(database.run(ALL, {}, values=values, clock_us=CLOCK_US, seed=1).rows)


@given(st.lists(STATEMENTS, max_size=8), st.lists(st.integers(0, 8), max_size=4), st.booleans())
@settings(max_examples=examples(300), deadline=None)
def test_statements_do_to_records_what_they_do_to_a_plain_table(
    statements: list[str], visits: list[int], sharing: bool
) -> None:
    first: Mapping[str, Any] = values_of(THINGS, *START)
    line = RecordDatabase([THINGS], record_key)
    # Small states are plain dictionaries; large ones share what did not change.
    states: list[Mapping[str, Any]] = [Values(first, {}) if sharing else first]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as plain:
        plain.execute(table_definition(THINGS))
        plain.executemany("INSERT INTO things VALUES (:id, :a, :b)", START)
        expected = [plain.execute(ALL.sql).fetchall()]
        for sql in statements:
            failed = False
            try:
                plain.execute(sql)
            except sqlite3.IntegrityError:
                failed = True
            try:
                statement = Statement(sql=sql, writes=["things"])
                result = line.run(statement, {}, values=states[-1], clock_us=CLOCK_US, seed=1)
            except RecordConflict:
                assert failed
                continue
            assert not failed
            states.append(apply_changes(states[-1], result.values))
            expected.append(plain.execute(ALL.sql).fetchall())
            assert rows_of(line, states[-1]) == expected[-1]
    for place in visits:
        # Back to any point, into another line, and seen by who has never seen it.
        if place < len(states):
            assert rows_of(line, states[place]) == expected[place]
            fresh = RecordDatabase([THINGS], record_key)
            assert rows_of(fresh, states[place]) == expected[place]
            fresh.close()
    line.close()
    for values in states:
        for stored in records_of_table(values, "things"):
            if "kept" in stored.record:
                assert stored.record["kept"] == START[stored.number - 1]["kept"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "other"]), JSON), max_size=5)


@given(RECORDS)
@settings(max_examples=examples(200), deadline=None)
def test_what_a_statement_does_not_change_stays_to_the_last_bit(
    records: list[dict[str, Any]],
) -> None:
    held = [{"id": number, **record} for number, record in enumerate(records, 1)]
    values = values_of(THINGS, *held)
    database = RecordDatabase([THINGS], record_key)
    nothing = Statement(sql="UPDATE things SET a = a, b = b, id = id", writes=["things"])
    result = database.run(nothing, {}, values=values, clock_us=CLOCK_US, seed=1)
    assert result.values == {}
    moved = Statement(sql="UPDATE things SET id = -id", writes=["things"])
    result = database.run(moved, {}, values=values, clock_us=CLOCK_US, seed=1)
    assert [value["record"] for value in result.values.values() if isinstance(value, dict)] == [
        {**record, "id": -record["id"]} for record in held
    ]
    database.close()
