"""Fields of records as columns: how a JSON value stands in a cell, and what a cell says of a field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from agentworld_sim.relational.layout import Table
from agentworld_sim.types.json import canonical_json

Cell = str | int | float | bytes | None
"""What SQLite holds in one place."""

_LARGEST = 2**63
_AFFINITY: Mapping[frozenset[str], str] = {
    frozenset(("integer",)): "INTEGER",
    frozenset(("boolean",)): "INTEGER",
    frozenset(("number",)): "NUMERIC",
    frozenset(("integer", "number")): "NUMERIC",
    frozenset(("string",)): "TEXT",
}


def columns_of(table: Table) -> tuple[str, ...]:
    """The fields that are columns: those that the table declares, and what names its records."""
    return tuple(dict.fromkeys((*table.scope, *table.key, *table.fields)))


def quote(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def table_definition(table: Table) -> str:
    """The statement that makes the table: a column compares as its field's schema says, so that the text of a form or
    of an address finds a number."""
    parts: list[str] = []
    for name in columns_of(table):
        schema = table.fields.get(name, {})
        default = cell_of(schema.get("default"))
        # An integer has one digit at least, a text its quotes: neither can end the definition.
        said = f" DEFAULT ({_literal(default)})" if default is not None else ""
        parts.append(f"{quote(name)} {_AFFINITY.get(frozenset(_kinds(schema)), 'BLOB')}{said}")
    if table.key:
        named = ", ".join(map(quote, dict.fromkeys((*table.scope, *table.key))))
        parts.append(f"UNIQUE ({named})")
    return f"CREATE TABLE {quote(table.name)} ({', '.join(parts)})"


def cell_of(value: Any) -> Cell:
    """How a JSON value stands in SQL: objects, lists and numbers too large for SQLite as JSON texts."""
    if isinstance(value, str):
        # SQLite has no lone surrogates.
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, float | bytes):
        return value
    if isinstance(value, int) and -_LARGEST <= value < _LARGEST:
        return int(value)
    return canonical_json(value)


def value_of(cell: Cell, schema: Mapping[str, Any], before: Any) -> Any:
    """What a cell that a statement wrote says of its field, whose schema and value `before` are known.

    Raises:
        ValueError: JSON has no such value.
    """
    if isinstance(cell, bytes) or (isinstance(cell, float) and not math.isfinite(cell)):
        raise ValueError(f"a record cannot hold {'a BLOB' if isinstance(cell, bytes) else cell}")
    kinds = _kinds(schema) or _kind_of(before)
    if isinstance(cell, int) and cell in (0, 1) and kinds == {"boolean"}:
        return bool(cell)
    if isinstance(cell, str) and kinds & {"array", "object"} and "string" not in kinds:
        try:
            return json.loads(cell)
        except ValueError:
            # Its schema says what is wrong with a text.
            return cell
    return cell


def _kind_of(value: Any) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, Mapping):
        return {"object"}
    return {"array"} if isinstance(value, list) else set()


def _kinds(schema: Mapping[str, Any]) -> set[str]:
    """The types that a schema allows beside null; none when it does not say."""
    said = schema.get("type", ())
    kinds = {said} if isinstance(said, str) else set(cast("Sequence[str]", said))
    for keyword in ("anyOf", "oneOf"):
        for one in schema.get(keyword, ()):
            if isinstance(one, Mapping):
                kinds |= _kinds(cast("Mapping[str, Any]", one))
    return kinds - {"null"}


def _literal(cell: Cell) -> str:
    return "'" + cell.replace("'", "''") + "'" if isinstance(cell, str) else repr(cell)
