"""SQL on the records of a world, beside views over their JSON; and opening base data."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from agentworld_sim.engines.table.keys import record_key
from agentworld_sim.relational.base_data import open_base_data
from agentworld_sim.relational.layout import BEGUN, Table
from agentworld_sim.relational.record_database import RecordDatabase, Statement
from agentworld_sim.types.values import apply_changes
from benchmarks._rows import Row, p50_ms

RECORDS = 10_000
OPEN_MS = 20

TABLE = Table(
    name="tickets",
    fields={
        "id": {"type": "integer"},
        "title": {"type": "string"},
        "state": {"type": "string"},
        "points": {"type": "integer"},
        "tags": {"type": "array"},
    },
)
BY_KEY = Statement(sql="SELECT * FROM tickets WHERE id = :id", reads=["tickets"])
COUNTS = Statement(sql="SELECT state, count(*) FROM tickets GROUP BY state", reads=["tickets"])
UPDATE = Statement(sql="UPDATE tickets SET points = points + 1 WHERE id = :id", writes=["tickets"])
INSERT = Statement(sql="INSERT INTO tickets (title) VALUES ('new')", writes=["tickets"])


class _Line:
    """A line of a world's states, and the database that follows it."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.database = RecordDatabase([TABLE], record_key)

    def run(self, statement: Statement, **given: Any) -> None:
        result = self.database.run(statement, given, values=self.values, clock_us=0, seed=1)
        self.values = apply_changes(self.values, result.values)


def _record(number: int) -> dict[str, Any]:
    state = "closed" if number % 3 else "open"
    own = {"id": number, "title": f"ticket {number}", "state": state, "points": number % 9}
    return {**own, "tags": ["a", str(number)], "undeclared": "x" * 50}


def rows() -> list[Row]:
    """Loading, reading, writing and following, in a table of ten thousand records."""
    start = apply_changes(
        {"tables/tickets": BEGUN},
        {
            f"tables/tickets/{number}": {"n": number, "record": _record(number)}
            for number in range(1, RECORDS + 1)
        },
    )
    line, numbers = _Line(start), count()
    loading = _once(lambda: line.run(BY_KEY, id=5))
    views, by_hand = _views()
    key = p50_ms(lambda: line.run(BY_KEY, id=next(numbers) % RECORDS))
    counting = p50_ms(lambda: line.run(COUNTS), times=30)
    update = p50_ms(lambda: line.run(UPDATE, id=next(numbers) % RECORDS + 1))
    insert = p50_ms(lambda: line.run(INSERT))
    head = line.values

    def jump() -> None:
        line.values = start if next(numbers) % 2 else head
        line.run(BY_KEY, id=5)

    fork = apply_changes(head, {"tables/tickets/7": {"n": 7, "record": _record(7)}})

    def change_lines() -> None:
        line.values = head if line.values is fork else fork
        line.run(BY_KEY, id=5)

    shown, json_views = f"{RECORDS:,} records", "views over JSON"
    jumping = p50_ms(jump, times=20, warm_up=2)
    forking = p50_ms(change_lines, times=100)
    return [
        Row(f"SQL: load {shown} and select", loading, alternative=json_views, theirs=by_hand),
        Row("SQL: select by key", key, alternative=json_views, theirs=_selected(views, BY_KEY)),
        Row(
            "SQL: group and count",
            counting,
            alternative=json_views,
            theirs=_selected(views, COUNTS),
        ),
        Row("SQL: update by key", update),
        Row("SQL: insert with a key that is made", insert),
        Row("SQL: select in a fork that differs in one record", forking),
        Row("SQL: select 420 turns further back", jumping),
        _opening(),
    ]


def _once(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def _views() -> tuple[sqlite3.Connection, float]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE held (n INTEGER PRIMARY KEY, record TEXT)")
    records = [_record(number) for number in range(1, RECORDS + 1)]
    loading = _once(
        lambda: connection.executemany(
            "INSERT INTO held (record) VALUES (?)", ((json.dumps(one),) for one in records)
        )
    )
    columns = ", ".join(f"record ->> '{name}' AS {name}" for name in TABLE.fields)
    connection.execute(f"CREATE VIEW tickets AS SELECT {columns} FROM held")
    return connection, loading


def _selected(connection: sqlite3.Connection, statement: Statement) -> float:
    return p50_ms(lambda: connection.execute(statement.sql, {"id": 77}).fetchall(), times=30)


def _opening() -> Row:
    """A file of 45 MB: ten thousand pages with their index."""

    def build(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, body TEXT)")
        bodies = ((f"word{number} " * 300,) for number in range(RECORDS))
        connection.executemany("INSERT INTO pages (body) VALUES (?)", bodies)
        connection.execute(
            "CREATE VIRTUAL TABLE words USING fts5 (body, content='pages', content_rowid='id')"
        )
        connection.execute("INSERT INTO words (words) VALUES ('rebuild')")

    def open_and_search() -> None:
        base = open_base_data("benchmark/1", build)
        with base.reading() as connection:
            connection.execute("SELECT rowid FROM words WHERE words MATCH 'word77'").fetchall()

    before = os.environ.get("AGENTWORLD_HOME")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["AGENTWORLD_HOME"] = folder
        try:
            opening = p50_ms(open_and_search, times=30)
        finally:
            os.environ.pop("AGENTWORLD_HOME")
            if before is not None:
                os.environ["AGENTWORLD_HOME"] = before
    return Row(
        "base data of 45 MB: open and first search",
        opening,
        target=f"under {OPEN_MS} ms",
        met=opening < OPEN_MS,
    )
