"""A world's records for an engine that imagines: shown as text, changed by typed operations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agentworld_sim.engines.table.initial_rows import initial_records, initial_values
from agentworld_sim.engines.table.operation import Plan
from agentworld_sim.engines.table.query import SAME, Filter, order_fields
from agentworld_sim.engines.table.record_index import Query, RecordIndex
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.relational.layout import (
    StoredRecord,
    Table,
    get,
    join_values,
    key_of,
    record_path,
    records_of_table,
    table_path,
    tables_in,
)
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec

LINES = 200
"""Most records of one table that are shown."""


def records_view(
    state: WorldState, plan: Plan, *, about: ToolCall, tool: ToolSpec, max_characters: int
) -> str:
    """The records as one line of JSON each, by table: first the call's, and in each table those that it
    names. A table that was never touched is shown as it would begin; what is left out is counted."""
    operation = plan.operations.get(about.name)
    own = operation.table if operation is not None else _table_of_tool(tool, plan, state)
    first = [own] if own else []
    names: list[str] = list(dict.fromkeys([*first, *plan.tables, *tables_in(state.values)]))
    wanted = list(_scalars(about.arguments.values()))
    parts: list[str] = []
    left = max_characters
    for name in names:
        part = _table_text(state, plan, name, wanted, left)
        if len(part) > left:
            break
        parts.append(part)
        left -= len(part) + 2
    return "\n\n".join(parts)


def record_changes(
    state: WorldState, plan: Plan, operations: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    """The values of the state that typed operations change: `{"kind": "put", "table": …, "record": {…}}`
    writes over the fields of a record that is there, `{"kind": "delete", "table": …, "key": …}` takes a
    key or a mapping of key and scope fields.

    Raises:
        ValueError: an operation names no table or record, or a record does not fit; told to its writer.
    """
    changing = _ChangeSet(state, plan)
    for number, operation in enumerate(operations, 1):
        try:
            changing.apply(operation)
        except ValueError as error:
            raise ValueError(f"operation {number}: {error}") from None
    return changing.values


def records_in(
    state: WorldState, plan: Plan, *, tables: Iterable[str] | None = None
) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Every table's records in their order, by a key of their own; those it would begin with if it was
    never touched."""
    names = sorted({*plan.tables, *tables_in(state.values)} if tables is None else tables)
    held = {name: current_records(state, plan, _table(plan, name)) for name in names}
    return {
        name: {one.key: order_fields(one, _table(plan, name)).record for one in stored}
        for name, stored in held.items()
    }


def _table(plan: Plan, name: str) -> Table:
    return plan.tables.get(name) or Table(name=name)


def current_records(state: WorldState, plan: Plan, table: Table) -> list[StoredRecord]:
    """The records of a table, in their order, their fields in none; those it would begin with if it was never
    touched. To order the fields takes longer than all else that is done with many records."""
    held = records_of_table(state.values, table.name)
    if held or table_path(table.name) in state.values:
        return held
    return initial_records(plan, table, seed=state.seed, clock_us=state.clock_us)


class _ChangeSet:
    """Operations applied one after another."""

    def __init__(self, state: WorldState, plan: Plan) -> None:
        self._state = state
        self._plan = plan
        self._index = RecordIndex()
        self.values: dict[str, Any] = {}

    def apply(self, operation: Mapping[str, Any]) -> None:
        table = self._table(operation.get("table"))
        kind = operation.get("kind")
        if kind == "put":
            record = operation.get("record")
            if not isinstance(record, Mapping):
                raise ValueError("`put` needs `record`, an object with the record's fields")
            self._put(table, cast("Mapping[str, Any]", record))
        elif kind == "delete":
            self._delete(table, operation.get("key"))
        else:
            raise ValueError(f"the kind is {kind!r}; it is 'put' or 'delete'")

    def _table(self, name: Any) -> Table:
        known = sorted({*self._plan.tables, *tables_in(self._state.values)})
        if not isinstance(name, str) or name not in known:
            listed = ", ".join(known) or "none"
            raise ValueError(f"no table {name!r}.{nearest(str(name), known)} Tables: {listed}.")
        table = _table(self._plan, name)
        if not self._index.has(name):
            try:
                records = current_records(self._state, self._plan, table)
            except UsageError as error:
                raise ValueError(str(error)) from None
            self._index.bring_up(table, records)
            if table_path(name) not in self._state.values:
                self.values.update(initial_values(table, records))
        return table

    def _put(self, table: Table, given: Mapping[str, Any]) -> None:
        missing = [path for path in table.key if get(given, path) is None]
        if missing:
            raise ValueError(
                f"a record of {table.name!r} needs its key: {', '.join(missing)} is missing"
            )
        before = self._find(table, {path: get(given, path) for path in table.key}, given)
        record = {**(before.record if before else {}), **given}
        for name, schema in table.fields.items():
            if name not in given:
                continue
            problem = _problem(schema, given[name])
            if problem is not None:
                raise ValueError(f"{name!r} of {table.name!r}: {problem}")
        for name in table.required if before is None else ():
            if name not in record:
                raise ValueError(f"a record of {table.name!r} needs {name!r}")
        number = before.number if before else self._index.next_number(table.name)
        key = before.key if before else key_of(record, table, number)
        stored = StoredRecord(key, number, record)
        self._index.put(table.name, stored)
        self.values[record_path(table.name, key)] = stored.to_json()

    def _delete(self, table: Table, key: Any) -> None:
        fields: Mapping[str, Any]
        if isinstance(key, Mapping):
            fields = cast("Mapping[str, Any]", key)
        else:
            if len(table.key) != 1:
                raise ValueError(
                    f"a record of {table.name!r} is named by {', '.join(table.key)}: give `key` as"
                    " an object"
                )
            fields = {table.key[0]: key}
        unnamed = [path for path in table.key if path not in fields]
        if unnamed:
            raise ValueError(
                f"a record of {table.name!r} is named by {', '.join(table.key)}, and"
                f" {', '.join(unnamed)} is missing in `key`"
            )
        found = self._find(table, fields, fields)
        if found is None:
            raise ValueError(f"no record of {table.name!r} has the key {key!r}")
        self._index.remove(table.name, found.key)
        self.values[record_path(table.name, found.key)] = None

    def _find(
        self, table: Table, key: Mapping[str, Any], given: Mapping[str, Any]
    ) -> StoredRecord | None:
        scope = {path: get(given, path) for path in table.scope}
        if all(value is not None for value in scope.values()) and all(
            path in key for path in table.key
        ):
            exact = join_values([*scope.values(), *(key[path] for path in table.key)])
            return self._index.at(table.name, exact)
        named = {**{path: one for path, one in scope.items() if one is not None}, **key}
        filters = [Filter(path, SAME, value) for path, value in named.items()]
        found = self._index.find(table.name, Query(filters=filters))
        if len(found) > 1:
            raise ValueError(
                f"{len(found)} records of {table.name!r} have this key; name"
                f" {', '.join(table.scope)} as well"
            )
        return found[0] if found else None


def _problem(schema: Mapping[str, Any], value: Any) -> str | None:
    try:
        return schema_problem(schema, value)
    except UsageError:
        # The tool's own author wrote a schema that nothing can be held against.
        return None


def _table_of_tool(tool: ToolSpec, plan: Plan, state: WorldState) -> str | None:
    """The table that a tool's name speaks of."""
    from agentworld_sim.engines.table.table_errors import singular_table

    name = f"_{tool.name.lower().replace('-', '_')}_"
    for table in (*plan.tables, *tables_in(state.values)):
        if f"_{table}_" in name or f"_{singular_table(table).replace(' ', '_')}_" in name:
            return table
    return None


def _table_text(
    state: WorldState, plan: Plan, name: str, wanted: Sequence[Any], max_characters: int
) -> str:
    table = _table(plan, name)
    records = current_records(state, plan, table)
    named = ", ".join((*table.scope, *table.key))
    head = f"{name} ({len(records)} record{'s' * (len(records) != 1)}, named by {named})"
    ranked = sorted(records, key=lambda one: -_rank(one, table, wanted))
    left = max_characters - len(head) - 40
    lines: list[str] = []
    for stored in ranked[:LINES]:
        record = order_fields(stored, table).record
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
        if len(line) + 1 > left:
            break
        lines.append(line)
        left -= len(line) + 1
    more = len(records) - len(lines)
    return "\n".join([head, *lines, *([f"… {more} more"] if more else [])])


def _rank(stored: StoredRecord, table: Table, wanted: Sequence[Any]) -> int:
    """How much a record has to do with a call."""
    named = _written_scalars(get(stored.record, path) for path in (*table.key, *table.scope))
    others = _written_scalars(stored.record.values())
    return sum(
        4 * (value in named or str(value) in named) + (value in others or str(value) in others)
        for value in wanted
    )


def _written_scalars(values: Iterable[Any]) -> set[Any]:
    """The scalars in values, and how each is written: `1` is like `"1"`."""
    found = set(_scalars(values))
    return found | set(map(str, found))


def _scalars(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _scalars(cast("Mapping[str, Any]", value).values())
        elif isinstance(value, list | tuple):
            yield from _scalars(cast("list[Any]", value))
        elif value is not None and not isinstance(value, bool):
            yield value
