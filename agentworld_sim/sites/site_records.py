"""The tables of a site, for its statements: no others can be seen."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any

from agentworld_sim.engines.table.keys import record_key
from agentworld_sim.relational.layout import Table
from agentworld_sim.relational.record_database import RecordDatabase, Statement, StatementResult
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.values import apply_changes

Row = dict[str, Any]


class SiteRecords:
    """The tables of one site. Any thread may use it."""

    def __init__(self, tables: Iterable[Table]) -> None:
        """
        Raises:
            UsageError: SQL cannot hold the tables.
        """
        self.tables = tuple(tables)
        self._free = deque([RecordDatabase(self.tables, record_key)])

    @contextmanager
    def transaction(self, state: WorldState) -> Generator[SiteTransaction]:
        """The records as they are in a state. What is written is in `changes`, and nowhere else."""
        try:
            database = self._free.pop()
        except IndexError:
            database = RecordDatabase(self.tables, record_key)
        try:
            yield SiteTransaction(database, [one.name for one in self.tables], state)
        finally:
            self._free.append(database)


class SiteTransaction:
    """The statements of one request. Each sees what those before it wrote."""

    def __init__(self, database: RecordDatabase, tables: list[str], state: WorldState) -> None:
        self._database, self._tables, self._state = database, tables, state
        self._values: Mapping[str, Any] = state.values
        self.changes: dict[str, Any] = {}
        """The change of the state's values."""

    def rows(self, sql: str, parameters: Mapping[str, Any]) -> list[Row]:
        """What a SELECT gives.

        Raises:
            StatementRefused: it is none, touches other tables, or takes too much.
        """
        result = self._run(Statement(sql=sql, reads=self._tables), parameters)
        return [dict(zip(result.columns, row, strict=True)) for row in result.rows]

    def value(self, expression: str, parameters: Mapping[str, Any]) -> Any:
        """What an expression of SQL is."""
        (row,) = self.rows(f"SELECT ({expression}\n) AS found", parameters)
        return row["found"]

    def write(self, sql: str, parameters: Mapping[str, Any]) -> StatementResult:
        """Runs an INSERT, UPDATE or DELETE.

        Raises:
            StatementRefused: it is none, touches other tables, or takes too much.
            RecordConflict: it breaks a key, or does not fit a field.
        """
        result = self._run(Statement(sql=sql, writes=self._tables), parameters)
        self._values = apply_changes(self._values, result.values)
        self.changes.update(result.values)
        return result

    def undo(self) -> None:
        """Takes back all that was written."""
        self._values, self.changes = self._state.values, {}

    def _run(self, statement: Statement, parameters: Mapping[str, Any]) -> StatementResult:
        state = self._state
        return self._database.run(
            statement, parameters, values=self._values, clock_us=state.clock_us, seed=state.seed
        )
