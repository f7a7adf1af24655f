"""The records of a world, seen as SQL.

A world's state is the truth. A `RecordDatabase` holds the same records in memory as tables, follows the state that each
statement is run in by what changed since the last one, and gives what a statement writes as a change of the state's
values. So it works at any ref and in any fork, and can be thrown away at any time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import unquote

from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.relational.columns import Cell, cell_of, quote
from agentworld_sim.relational.layout import HIGHEST, ROOT, Table
from agentworld_sim.relational.record_table import (
    LOG,
    Changes,
    MakeKey,
    RecordConflict,
    RecordTable,
)
from agentworld_sim.relational.statement_guard import StatementGuard, StatementRefused
from agentworld_sim.relational.world_functions import install_functions
from agentworld_sim.types.values import changed_keys

MAX_PAGES = 65_536
"""Of 4 KiB each: what the tables may take."""

_JSON_TABLES = ("json_each", "json_tree")
_INTERNAL = ("sqlite_", "pragma_", "dbstat", "fts", "rtree", LOG)
"""How the names of tables begin that are no records."""

_HISTORY = ("changes", "total_changes", "last_insert_rowid")
"""Functions whose answers depend on what the connection did before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement of SQL, with `:name` for what it is given."""

    sql: str
    reads: Collection[str] = ()
    """Tables that it may read."""
    writes: Collection[str] = ()
    """Tables that it may read and write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementResult:
    """What a statement gave and did."""

    columns: tuple[str, ...]
    """The names of the columns; none for a statement that gives no rows."""
    rows: tuple[tuple[Cell, ...], ...]
    """Objects and lists as JSON texts, true and false as 1 and 0."""
    count: int
    """Rows that it wrote."""
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The change of the state's values; `None` for a key that is gone."""
    new_records: tuple[Mapping[str, Any], ...] = ()
    """With the keys that were made for them, which `RETURNING` does not know yet."""


class RecordDatabase:
    """Runs statements on the records of one line of a world. Not for several threads at once."""

    def __init__(self, tables: Iterable[Table], make_key: MakeKey) -> None:
        """Only what the tables declare is a column: other fields of a record stay as they are.

        Raises:
            UsageError: two tables, or two fields of one, have a name that SQL does not tell apart.
        """
        # A statement is always prepared under the authorizer of its own run.
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False, cached_statements=0
        )
        self._make_key = make_key
        self._connection.execute("PRAGMA temp_store = MEMORY")
        self._connection.execute(f"PRAGMA max_page_count = {MAX_PAGES}")
        # So that a row that `OR REPLACE` pushes out is logged too.
        self._connection.execute("PRAGMA recursive_triggers = ON")
        self._connection.execute(f"CREATE TEMP TABLE {quote(LOG)} (name, place, event)")
        for name in _JSON_TABLES:
            # Looked up once here, because that reads the table of the schema.
            self._connection.execute(f"SELECT * FROM {name}('[]')")
        self._tables: dict[str, RecordTable] = {}
        for table in tables:
            self._tables[table.name.lower()] = RecordTable(self._connection, table)
        self._triggers = {name for table in self._tables.values() for name in table.triggers}
        self._seen: Mapping[str, Any] = {}
        self._written: Mapping[str, Any] = {}

    def run(
        self,
        statement: Statement,
        parameters: Mapping[str, Any],
        *,
        values: Mapping[str, Any],
        clock_us: int,
        seed: int,
    ) -> StatementResult:
        """Runs a statement in a state. Several run as one when each is given the values as the one before left them.

        Args:
            parameters: JSON values.
            clock_us: What `datetime('now')` says.
            seed: What `random()` follows from, and keys that are made.

        Raises:
            StatementRefused: it is no statement, touches what it does not declare, or takes too much.
            RecordConflict: what it writes breaks a key or does not fit a field.
        """
        touched = {*statement.reads, *statement.writes}
        for name in sorted(touched):
            if name.lower() not in self._tables:
                known = [one.table.name for one in self._tables.values()]
                raise UsageError(
                    f"There is no table {name!r}.{nearest(name, known)} Tables: {', '.join(known) or 'none'}."
                )
        self._follow(values, {name.lower() for name in touched})
        connection = self._connection
        install_functions(connection, clock_us=clock_us, seed=seed)
        guard = StatementGuard(connection, partial(self._refusal, statement))
        changes = Changes(values, seed)
        given = {name: cell_of(value) for name, value in parameters.items()}
        connection.execute("BEGIN")
        try:
            connection.execute(f"DELETE FROM {quote(LOG)}")
            with guard.watch():
                cursor = connection.execute(statement.sql, given)
                rows = guard.fetch(cursor, tuple)
            self._write_back(changes)
            connection.execute("COMMIT")
        except (sqlite3.IntegrityError, RecordConflict) as error:
            raise self._failure(RecordConflict, statement, str(error)) from None
        except (StatementRefused, sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
            raise self._failure(StatementRefused, statement, str(error)) from None
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        self._written = changes.values
        return StatementResult(
            columns=tuple(column[0] for column in cursor.description or ()),
            rows=tuple(rows),
            count=max(cursor.rowcount, 0),
            values=changes.values,
            new_records=tuple(changes.new_records),
        )

    def close(self) -> None:
        self._connection.close()

    def _follow(self, values: Mapping[str, Any], names: Collection[str]) -> None:
        """Brings what was loaded up to the state, and loads the named tables."""
        by_table: dict[str, dict[str, Any]] = {}
        for path in changed_keys(self._seen, values) | self._written.keys():
            held = self._written[path] if path in self._written else self._seen.get(path)
            now = values.get(path)
            name, _, key = path.removeprefix(ROOT).partition("/")
            if not path.startswith(ROOT) or not key or key.startswith(HIGHEST) or held == now:
                continue
            by_table.setdefault(unquote(name), {})[key] = now
        try:
            self._connection.execute("BEGIN")
            for name, table in self._tables.items():
                if table.loaded and table.table.name in by_table:
                    table.follow(by_table[table.table.name], values)
                elif not table.loaded and name in names:
                    table.load(values)
            self._connection.execute("COMMIT")
        except BaseException:
            self._connection.execute("ROLLBACK")
            for table in self._tables.values():
                table.loaded = False
            raise
        self._seen, self._written = values, {}

    def _write_back(self, changes: Changes) -> None:
        log = self._connection.execute(
            f"SELECT name, place, event FROM {quote(LOG)} ORDER BY rowid"
        )
        events = log.fetchall()
        if events:
            # A statement writes one table.
            table = self._tables[events[0][0].lower()]
            table.write_back(
                [(place, event) for _, place, event in events], changes, self._make_key
            )

    def _refusal(
        self,
        statement: Statement,
        action: int,
        first: str | None,
        second: str | None,
        _: str | None,
        source: str | None,
    ) -> str:
        name = (first or "").lower()
        writes = {one.lower() for one in statement.writes}
        declared = writes | {one.lower() for one in statement.reads}
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return ""
        if action == sqlite3.SQLITE_FUNCTION:
            function = (second or "").lower()
            if function == "load_extension":
                return "extensions are not loaded"
            return f"{function}() depends on what was run before" if function in _HISTORY else ""
        if action == sqlite3.SQLITE_READ:
            # Without a column it may be a table of a WITH clause.
            own = not second and name not in self._tables and not name.startswith(_INTERNAL)
            known = name in declared or name in _JSON_TABLES or own
            return "" if known else f"it reads {first!r}, which it does not declare"
        if action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            if (name in writes and second != "ROWID") or (name == LOG and source in self._triggers):
                return ""
            return f"it writes {first!r}{' row ids' if name in writes else ', which it does not declare'}"
        return "it does something else than SELECT, INSERT, UPDATE or DELETE"

    def _failure(self, kind: type[UsageError], statement: Statement, reason: str) -> UsageError:
        if reason.startswith("no such "):
            what, _, missing = reason.partition(": ")
            tables = {one.table.name: one.columns for one in self._tables.values()}
            known = tables if what == "no such table" else {n for c in tables.values() for n in c}
            listed = "; ".join(f"{name} ({', '.join(columns)})" for name, columns in tables.items())
            reason = f"{reason}.{nearest(missing.rpartition('.')[2], known)} Tables: {listed}"
        return kind(
            f"The statement {statement.sql!r} cannot be run: {reason}. Nothing was changed."
        )
