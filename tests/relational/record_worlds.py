"""Tables, states and statements for the tests of the relational view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentworld_sim.relational.layout import (
    BEGUN,
    StoredRecord,
    Table,
    key_of,
    record_path,
    table_path,
)
from agentworld_sim.relational.record_database import RecordDatabase, Statement, StatementResult

CLOCK_US = 1_790_000_000_000_000

USERS = Table(
    name="users",
    fields={
        "id": {"type": "integer"},
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": ["integer", "null"]},
        "active": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "address": {"type": "object"},
    },
    required=("name",),
)
ISSUES = Table(
    name="issues",
    scope=("repo",),
    key=("number",),
    fields={
        "repo": {"type": "string"},
        "number": {"type": "integer"},
        "state": {"type": "string", "default": "open"},
    },
)
NOTES = Table(name="notes", key=(), fields={"text": {}})


def next_number(
    table: Table,
    path: str,
    record: Mapping[str, Any],
    *,
    highest: int,
    like: Any,
    seed: int,
    taken: Callable[[Any], bool],
) -> Any:
    """Stands for the engine of tables."""
    return highest + 1


def values_of(table: Table, *records: Mapping[str, Any]) -> dict[str, Any]:
    """A state in which the table has these records."""
    values: dict[str, Any] = {table_path(table.name): dict(BEGUN)}
    for number, record in enumerate(records, 1):
        key = key_of(record, table, number)
        values[record_path(table.name, key)] = StoredRecord(key, number, record).to_json()
    return values


def apply(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The values after a change."""
    after = {**values, **changes}
    return {key: value for key, value in after.items() if value is not None}


class Desk:
    """A state, and a database that follows it."""

    def __init__(self, values: Mapping[str, Any], *tables: Table) -> None:
        self.values = dict(values)
        self.database = RecordDatabase(tables or (USERS, ISSUES, NOTES), next_number)

    def run(self, sql: str, writes: str = "", reads: str = "", **given: Any) -> StatementResult:
        """Runs a statement, and takes over what it changes."""
        statement = Statement(sql=sql, reads=reads.split(), writes=writes.split())
        result = self.database.run(statement, given, values=self.values, clock_us=CLOCK_US, seed=7)
        self.values = apply(self.values, result.values)
        return result
