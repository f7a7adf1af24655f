"""Whether a record's value is what a filter asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from agentworld_sim.engines.table import times
from agentworld_sim.engines.table.json_schemas import not_null, properties_of
from agentworld_sim.relational.layout import StoredRecord, Table, get

NAMES = ("id", "name", "login", "username", "key", "slug", "number", "email")
"""A field that holds an object is meant when one of these is given: `assignee=ada` finds
`{"assignee": {"login": "ada"}}`."""

SAME = "same"
"""Compares a key or a scope: the very value. `equal` also looks into lists and objects."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One condition on records."""

    path: str
    compare: str
    wanted: Any


def matches(record: Mapping[str, Any], condition: Filter) -> bool:
    """Whether `record` fits one condition."""
    return fits(condition.compare, get(record, condition.path), condition.wanted)


def fits(compare: str, value: Any, wanted: Any) -> bool:
    """Whether `value` compares with `wanted` as `compare` says; see `Argument.compare`."""
    if compare == SAME:
        return same(value, wanted)
    if compare == "equal":
        return _equal(value, wanted)
    if compare == "one_of":
        return any(_equal(value, one) for one in _several(wanted))
    if compare == "contains":
        return _contains(value, wanted)
    order = _order(value, wanted)
    if order is None:
        return False
    if compare == "at_least":
        return order >= 0
    if compare == "at_most":
        return order <= 0
    return order < 0 if compare == "before" else order > 0


def same(one: Any, other: Any) -> bool:
    """Equality of JSON: `1` is `1.0` and not `true`."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        left, right = cast("list[Any]", one), cast("list[Any]", other)
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return mine.keys() == theirs.keys() and all(same(mine[key], theirs[key]) for key in mine)
    return one == other


def texts(value: Any) -> Iterator[str]:
    """Every text in a value, for searching; numbers as they are written."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in cast("dict[str, Any]", value).values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from texts(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _equal(value: Any, wanted: Any) -> bool:
    if same(value, wanted):
        return True
    if isinstance(value, list):
        values = cast("list[Any]", value)
        if isinstance(wanted, list):
            asked = cast("list[Any]", wanted)
            return all(any(_equal(one, other) for one in values) for other in asked)
        return any(_equal(one, wanted) for one in values)
    if isinstance(wanted, list):
        return any(_equal(value, one) for one in cast("list[Any]", wanted))
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        if isinstance(wanted, dict):
            fields = cast("dict[str, Any]", wanted)
            return bool(fields) and all(_equal(held.get(key), one) for key, one in fields.items())
        return any(name in held and same(held[name], wanted) for name in NAMES)
    return False


def _several(wanted: Any) -> list[Any]:
    if isinstance(wanted, list):
        return cast("list[Any]", wanted)
    if isinstance(wanted, str) and "," in wanted:
        return [wanted, *(part.strip() for part in wanted.split(","))]
    return [wanted]


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return all(_contains(value, one) for one in cast("list[Any]", wanted))
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted.casefold() in value.casefold()
    if isinstance(value, list):
        return any(_contains(one, wanted) for one in cast("list[Any]", value))
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        return any(name in held and _contains(held[name], wanted) for name in NAMES)
    return value is not None and same(value, wanted)


def _order(value: Any, wanted: Any) -> int | None:
    """Below, at or above 0 as `value` is less than, equal to or more than `wanted`."""
    numbers = number(value), number(wanted)
    if numbers[0] is not None and numbers[1] is not None:
        return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    moments = _moment(value, wanted), _moment(wanted, value)
    if moments[0] is not None and moments[1] is not None:
        return (moments[0] > moments[1]) - (moments[0] < moments[1])
    if isinstance(value, str) and isinstance(wanted, str):
        return (value > wanted) - (value < wanted)
    return None


def number(value: Any) -> Decimal | None:
    """`value` as an exact number, also from a text that is one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and (not value.isascii() or len(value) > 100 or "_" in value):
        return None
    try:
        found = Decimal(value if isinstance(value, int) else str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _moment(value: Any, beside: Any) -> int | None:
    """`value` as a moment; a number is one only beside a text that is one."""
    read = times.parse_moment(value)
    if read is not None or times.parse_moment(beside) is None:
        return read
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    scale = 1000 if abs(value) >= 10**11 else 1_000_000
    return int(Decimal(str(value)) * scale) if abs(value) < 10**15 else None


def order_fields(stored: StoredRecord, table: Table) -> StoredRecord:
    """The record with its fields as the table lists them; others go first where they name it, and
    last, by name, where they do not."""
    record = stored.record
    first = [path for path in (*table.scope, *table.key) if path not in table.fields]
    known = [name for name in (*first, *table.fields) if name in record]
    names = dict.fromkeys([*known, *sorted(record)])
    ordered = {name: _order_fields(record[name], table.fields.get(name)) for name in names}
    return replace(stored, record=ordered)


def _order_fields(value: Any, schema: Any) -> Any:
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        named = properties_of({} if schema is None else not_null(schema))
        names = dict.fromkeys([*(name for name in named if name in held), *sorted(held)])
        return {name: _order_fields(held[name], named.get(name)) for name in names}
    if isinstance(value, list):
        items = None if schema is None else not_null(schema).get("items")
        return [_order_fields(one, items) for one in cast("list[Any]", value)]
    return value
