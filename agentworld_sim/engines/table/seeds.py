"""Records that recorded answers of a real server show, to begin a world with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from agentworld_sim.engines.table.json_schemas import properties_of
from agentworld_sim.engines.table.operation import Operation, Plan
from agentworld_sim.engines.table.request import TableRequest
from agentworld_sim.engines.table.table_errors import ToolError
from agentworld_sim.relational.layout import MISSING, Table, get, join_values, put
from agentworld_sim.types.tools import ToolSpec
from agentworld_sim.types.turns import Observation, Turn

_FROM_OUTSIDE = ("real", "replayed")


def records_from(
    turns: Iterable[Turn], plan: Plan, *, tools: Mapping[str, ToolSpec] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """The records that recorded answers of the real server show, by table in the order in which they were
    first seen. A later answer goes before an earlier one; what was deleted is gone. `tools` say what
    arguments mean when they are left out."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for turn in turns:
        seen = turn.observation
        operation = plan.operations.get(turn.call.name)
        if operation is None or seen.is_error or seen.provenance not in _FROM_OUTSIDE:
            continue
        table = plan.tables.get(operation.table) or Table(name=operation.table)
        tool = (tools or {}).get(turn.call.name) or ToolSpec(name=turn.call.name)
        asked = TableRequest(operation, table, plan, tool, turn.call.arguments)
        held = found.setdefault(table.name, {})
        try:
            if operation.does == "delete":
                for key in asked.keys or ():
                    _forget(held, {**asked.scope, **key})
                continue
            for record in _records(asked, operation, table, seen):
                if (named := _key(record, table)) is not None:
                    held[named] = {**held.get(named, {}), **record}
        except ToolError:
            continue
    return {name: list(records.values()) for name, records in found.items() if records}


def with_records(
    plan: Plan, records: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Table]:
    """The plan's tables, each beginning with the records that are given for it. A record that the scenario
    has, by its key, stays the scenario's."""
    tables = dict(plan.tables)
    for name, given in records.items():
        table = tables.get(name) or Table(name=name)
        own = {_key(record, table) for record in table.records}
        added = [record for record in given if _key(record, table) not in own]
        tables[name] = replace(table, records=(*table.records, *added))
    return tables


def _records(
    asked: TableRequest, operation: Operation, table: Table, seen: Observation
) -> list[dict[str, Any]]:
    """The records in one answer, with what the call says of them."""
    value = _content(seen)
    items: list[Any] = []
    output = operation.output
    listed = operation.does in ("list", "search") or asked.is_plural
    at = get(value, output.records if listed else output.record, MISSING)
    if isinstance(at, list):
        items = cast("list[Any]", at)
    elif isinstance(at, Mapping):
        items = [cast("Mapping[str, Any]", at)]
    if not items and operation.does in ("create", "upsert") and isinstance(value, Mapping):
        items = [cast("Mapping[str, Any]", value)]
    known = set(table.fields) | {*table.key, *table.scope}
    named = properties_of(output.schema or {}, (output.schema or {},))
    records: list[dict[str, Any]] = []
    for item in items:
        if output.values and not isinstance(item, Mapping):
            item = {output.values: item}
        if not isinstance(item, Mapping):
            continue
        record: dict[str, Any] = {}
        if operation.does in ("create", "upsert") and not asked.is_plural:
            for name, argument, one in asked.arguments_with("field", "key"):
                put(record, argument.field or name, one)
        for path, one in asked.scope.items():
            put(record, path, one)
        shown = cast("Mapping[str, Any]", item)
        if operation.does == "read" and not (set(shown) & known) and not named:
            # It answers with something, but with no record.
            continue
        record.update(shown)
        for key in asked.keys if asked.keys and len(asked.keys) == 1 else ():
            for path, one in key.items():
                if get(record, path, MISSING) is MISSING:
                    put(record, path, one)
        records.append(record)
    return records


def _content(seen: Observation) -> Any:
    if seen.structured is not None:
        return seen.structured
    try:
        return json.loads(seen.text)
    except ValueError:
        return None


def _forget(held: dict[str, dict[str, Any]], named: Mapping[str, Any]) -> None:
    for key, record in list(held.items()):
        if all(get(record, path) == value for path, value in named.items()):
            del held[key]


def _key(record: Mapping[str, Any], table: Table) -> str | None:
    """Scope and key as text; `None` for a record without."""
    own = [get(record, path) for path in table.key]
    if not own or any(value is None for value in own):
        return None
    return join_values([*(get(record, path) for path in table.scope), *own])
