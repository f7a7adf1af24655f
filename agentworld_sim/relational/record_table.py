"""The records of one table as rows, and what a statement did to the rows as a change of the records."""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentworld_sim.errors import UsageError
from agentworld_sim.relational.columns import (
    Cell,
    cell_of,
    columns_of,
    quote,
    table_definition,
    value_of,
)
from agentworld_sim.relational.layout import (
    BEGUN,
    EXACT,
    HIGHEST,
    MISSING,
    StoredRecord,
    Table,
    get,
    key_number,
    key_of,
    put,
    record_path,
    records_of_table,
    scope_of,
    table_path,
)
from agentworld_sim.schema.validate import schema_problem

LOG = "record log"
"""The table of what a statement did to which row. No table of records can be called so."""


class RecordConflict(UsageError):
    """What a statement writes breaks a key, or does not fit a field. Nothing was changed."""


class MakeKey(Protocol):
    """Makes the field of a new record's key that the statement left open, as the engine of tables does."""

    def __call__(
        self,
        table: Table,
        path: str,
        record: Mapping[str, Any],
        *,
        highest: int,
        like: Any,
        seed: int,
        taken: Callable[[Any], bool],
    ) -> Any:
        """`highest` is the highest number that a key of the record's scope ever had, `like` a key that has it, and
        `taken` says whether a record has a key."""
        ...


@dataclass(slots=True)
class Changes:
    """What a statement did to the records of its tables."""

    before: Mapping[str, Any]
    """The world's values."""
    seed: int
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    """The values that change."""
    new_records: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def value(self, path: str) -> Any:
        return self.values[path] if path in self.values else self.before.get(path)


class RecordTable:
    """One table of a connection. A row's id is its record's number, so that rows come in the order of insertion."""

    def __init__(self, connection: sqlite3.Connection, table: Table) -> None:
        self.table = table
        self.columns = columns_of(table)
        self.loaded = False
        self._connection = connection
        self._rowids: dict[str, int] = {}
        """By a record's `KEY`."""
        self._keys: dict[int, str] = {}
        self._merged = False
        """Whether two records have one number, which a merge of two lines of a world can give."""
        names = {name.lower() for name in self.columns}
        self._rowid = next((one for one in ("rowid", "_rowid_", "oid") if one not in names), "")
        self._named = quote(table.name)
        try:
            connection.execute(table_definition(table))
        except sqlite3.Error as error:
            raise UsageError(
                f"The table {table.name!r} cannot be read by SQL: {error}. Its fields are"
                f" {', '.join(self.columns) or 'not declared'}."
            ) from None
        self.triggers = {
            f"{LOG} of {table.name}: {event}": event for event in ("INSERT", "UPDATE", "DELETE")
        }
        """What writes the log, and when."""
        listed = ", ".join(map(quote, self.columns))
        marks = ", ".join("?" * (len(self.columns) + 1))
        pairs = ", ".join(f"{quote(name)} = ?" for name in self.columns)
        self._insert = f"INSERT INTO {self._named} ({self._rowid}, {listed}) VALUES ({marks})"
        self._update = f"UPDATE {self._named} SET {pairs} WHERE {self._rowid} = ?"
        self._select = f"SELECT {self._rowid}, {listed} FROM {self._named}"
        self._delete = f"DELETE FROM {self._named}"

    # From the state to rows

    def load(self, values: Mapping[str, Any]) -> None:
        """Takes all records of a state."""
        held = records_of_table(values, self.table.name)
        held.sort(key=lambda one: (one.number, one.key))
        self._merged = len({one.number for one in held}) < len(held)
        self._connection.execute(self._delete)
        self._rowids, self._keys = {}, {}
        self._add({place if self._merged else one.number: one for place, one in enumerate(held, 1)})
        # Not before: they would log every row.
        self._log_changes()
        self.loaded = True

    def follow(self, changes: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Takes the records that changed on the way to the state `values`, each by its `KEY` as its stored value or
        `None`."""
        gone = [self._rowids.pop(key) for key in changes if key in self._rowids]
        for rowid in gone:
            del self._keys[rowid]
        new = [StoredRecord(key, one["n"], one["record"]) for key, one in changes.items() if one]
        rows = {one.number: one for one in new}
        if self._merged or len(rows) < len(new) or rows.keys() & self._keys.keys():
            self.load(values)
            return
        self._connection.executemany(
            f"{self._delete} WHERE {self._rowid} = ?", [(rowid,) for rowid in gone]
        )
        self._add(rows)

    def _add(self, rows: Mapping[int, StoredRecord]) -> None:
        for rowid, one in rows.items():
            self._rowids[one.key], self._keys[rowid] = rowid, one.key
        try:
            self._connection.executemany(
                self._insert, ((rowid, *self._cells(one.record)) for rowid, one in rows.items())
            )
        except sqlite3.Error as error:
            raise UsageError(
                f"The records of {self.table.name!r} cannot be read by SQL: {error}. Their keys must"
                " differ in SQL too, where 1 is '1' in a column of numbers."
            ) from None

    def _cells(self, record: Mapping[str, Any]) -> list[Cell]:
        return [cell_of(get(record, path)) for path in self.columns]

    def _log_changes(self) -> None:
        # The empty text makes it a text where there is one column alone.
        differs = " || ".join(
            ["''", *(f"(OLD.{quote(one)} IS NOT NEW.{quote(one)})" for one in self.columns)]
        )
        rows = {"INSERT": ("NEW", "'new'"), "UPDATE": ("OLD", differs), "DELETE": ("OLD", "'gone'")}
        for trigger, event in self.triggers.items():
            row, said = rows[event]
            self._connection.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS {quote(trigger)} AFTER {event} ON main.{self._named} BEGIN INSERT INTO"
                f" {quote(LOG)} VALUES ('{self.table.name}', {row}.{self._rowid}, {said}); END"
            )

    # From rows to the state

    def write_back(
        self, log: Sequence[tuple[int, str]], changes: Changes, make_key: MakeKey
    ) -> None:
        """Adds to `changes` what one statement did; `log` is of row ids and events, in their order.

        Raises:
            RecordConflict: a row does not fit the table.
            sqlite3.IntegrityError: two rows would have one key.
        """
        events: dict[int, list[str]] = {}
        for rowid, event in log:
            events.setdefault(rowid, []).append(event)
        rows: dict[int, Sequence[Cell]] = {
            rowid: cells
            for rowid, *cells in self._connection.execute(
                f"{self._select} WHERE {self._rowid} IN (SELECT place FROM {quote(LOG)})"
            ).fetchall()
        }
        new = sorted(rowid for rowid in rows if "new" in events[rowid])
        before = {rowid: self._record_at(rowid, changes) for rowid in events if rowid in self._keys}
        after: dict[int, StoredRecord] = {}
        for rowid in sorted(rows.keys() - set(new)):
            after[rowid] = self._changed_record(before[rowid], rows[rowid], events[rowid])
        for rowid, stored in before.items():
            if rowid not in after or after[rowid].key != stored.key:
                self._forget(stored, changes)
        for place, rowid in enumerate(new):
            number = self._number(rowid, place, len(log), changes)
            after[rowid] = self._new_record(rowid, number, rows[rowid], changes, make_key)
        for rowid, stored in after.items():
            # As it would be loaded: a JSON text as ours, a key that was made.
            self._connection.execute(self._update, [*self._cells(stored.record), rowid])
            if rowid in before and stored == before[rowid]:
                continue
            path = record_path(self.table.name, stored.key)
            known = self._rowids.get(stored.key, rowid) in events
            if not known or changes.values.get(path) is not None:
                raise RecordConflict(f"two records of {self.table.name!r} would be {stored.key}")
            changes.values[path] = stored.to_json()
        changes.new_records += [after[rowid].record for rowid in new]
        if changes.values and (begun := table_path(self.table.name)) not in changes.before:
            changes.values[begun] = dict(BEGUN)
        for rowid, stored in before.items():
            del self._rowids[stored.key], self._keys[rowid]
        for rowid, stored in after.items():
            self._rowids[stored.key], self._keys[rowid] = rowid, stored.key
        self.loaded = not self._merged

    def _record_at(self, rowid: int, changes: Changes) -> StoredRecord:
        key = self._keys[rowid]
        held = changes.before[record_path(self.table.name, key)]
        return StoredRecord(key, held["n"], held["record"])

    def _changed_record(
        self, before: StoredRecord, cells: Sequence[Cell], marks: Sequence[str]
    ) -> StoredRecord:
        record: dict[str, Any] = copy.deepcopy(dict(before.record))
        for place, (path, cell) in enumerate(zip(self.columns, cells, strict=True)):
            held = get(before.record, path, MISSING)
            if all(mark[place] == "0" for mark in marks) or (cell is None and held is MISSING):
                continue
            put(record, path, self._value(path, cell, held))
        return StoredRecord(key_of(record, self.table, before.number), before.number, record)

    def _number(self, rowid: int, place: int, most: int, changes: Changes) -> int:
        """The number of a new record."""
        if self._merged:
            held = records_of_table(changes.before, self.table.name)
            return held[-1].number + 1 + place
        last = max(self._keys, default=0)
        if rowid not in self._keys and not last < rowid <= last + most:
            raise RecordConflict(f"a new record of {self.table.name!r} cannot choose its row id")
        return rowid

    def _new_record(
        self, rowid: int, number: int, cells: Sequence[Cell], changes: Changes, make_key: MakeKey
    ) -> StoredRecord:
        table = self.table
        record: dict[str, Any] = {}
        for path, cell in zip(self.columns, cells, strict=True):
            if cell is not None:
                put(record, path, self._value(path, cell, None))
        for name in table.required:
            if get(record, name) is None and name not in table.key:
                raise RecordConflict(f"a record of {table.name!r} needs {name!r}")
        for path in table.key:
            if get(record, path) is None:
                put(record, path, self._made_key(path, record, number, changes, make_key))
        # The next new record of the statement counts on from it.
        self._connection.execute(self._update, [*self._cells(record), rowid])
        return StoredRecord(key_of(record, table, number), number, record)

    def _made_key(
        self, path: str, record: Mapping[str, Any], number: int, changes: Changes, make_key: MakeKey
    ) -> Any:
        table, column = self.table, quote(path)
        within = "".join(f" AND {quote(one)} IS ?" for one in table.scope)
        scope = [cell_of(get(record, one)) for one in table.scope]
        named = f"FROM {self._named} WHERE {column} IS NOT NULL{within}"
        (top,) = self._connection.execute(f"SELECT max({column}) {named}", scope).fetchone()
        if not isinstance(top, int) or top >= EXACT:
            # Numbers stand before texts: these are texts, or some of them are.
            found = self._connection.execute(f"SELECT {column} {named}", scope).fetchall()
            top = max((key for (key,) in found), key=lambda key: key_number(key) or 0, default=None)
        like = top
        if top is None:
            # The first of its scope looks like the record before it.
            last = f"SELECT {column} FROM {self._named} WHERE {column} IS NOT NULL ORDER BY {self._rowid} DESC"
            like = next((key for (key,) in self._connection.execute(last)), None)
        gone: int = changes.value(record_path(table.name, HIGHEST + scope_of(record, table))) or 0

        def is_taken(key: Any) -> bool:
            row = self._connection.execute(
                f"SELECT 1 {named} AND {column} = ?", [*scope, cell_of(key)]
            )
            return path == table.key[-1] and row.fetchone() is not None

        return make_key(
            table,
            path,
            record,
            highest=max(key_number(top) or 0, gone),
            like=like,
            seed=changes.seed + number,
            taken=is_taken,
        )

    def _value(self, path: str, cell: Cell, before: Any) -> Any:
        schema = self.table.fields.get(path, {})
        try:
            value = value_of(cell, schema, before)
            problem = schema_problem(schema, value)
        except ValueError as error:
            problem, value = str(error), None
        if problem is not None:
            raise RecordConflict(f"{path!r} of {self.table.name!r}: {problem}")
        return value

    def _forget(self, stored: StoredRecord, changes: Changes) -> None:
        table = self.table
        changes.values[record_path(table.name, stored.key)] = None
        number = key_number(get(stored.record, table.key[-1])) if table.key else None
        path = record_path(table.name, HIGHEST + scope_of(stored.record, table))
        # A number that was given out once is never given out again.
        if number is not None and table.generated_key and number > (changes.value(path) or 0):
            changes.values[path] = number
