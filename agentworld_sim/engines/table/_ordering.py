"""The one order of a record's fields: a state that was stored does not keep the order of a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from agentworld_sim.engines.table.json_schemas import Schema, not_null, properties_of
from agentworld_sim.engines.table.layout import Stored
from agentworld_sim.engines.table.operation import Table


def in_order(stored: Stored, table: Table, roots: Sequence[Schema]) -> Stored:
    """The record with its fields as the table lists them; others go first where they name it, and
    last, by name, where they do not.

    Args:
        stored: The record.
        table: Its table.
        roots: Where references in the fields' schemas point into.
    """
    record = stored.record
    first = [path for path in (*table.scope, *table.key) if path not in table.fields]
    known = [name for name in (*first, *table.fields) if name in record]
    names = dict.fromkeys([*known, *sorted(record)])
    ordered = {name: _ordered(record[name], table.fields.get(name), roots) for name in names}
    return replace(stored, record=ordered)


def _ordered(value: Any, schema: Any, roots: Sequence[Schema]) -> Any:
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        named: Mapping[str, Any] = {}
        if schema is not None:
            named = properties_of(not_null(schema, roots), roots)
        names = dict.fromkeys([*(name for name in named if name in held), *sorted(held)])
        return {name: _ordered(held[name], named.get(name), roots) for name in names}
    if isinstance(value, list):
        items = None if schema is None else not_null(schema, roots).get("items")
        return [_ordered(one, items, roots) for one in cast("list[Any]", value)]
    return value
