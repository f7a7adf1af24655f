"""Where records stand in a world's state.

`tables/TABLE` says that the table has its first records. `tables/TABLE/KEY` is one record with its
number, which is its place in the order of insertion. `tables/TABLE/+SCOPE` is the highest number that a
generated key ever had in a scope, once the record that had it is gone.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote, unquote

from agentworld_sim.types.json import canonical_json

ROOT = "tables/"
HIGHEST = "+"
BEGUN: Mapping[str, Any] = {"begun": True}

DEFAULT_KEY: tuple[str, ...] = ("id",)
"""The key of a table of which nobody says otherwise; this very object, not one that equals it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table, as all tools together describe it."""

    name: str
    key: tuple[str, ...] = DEFAULT_KEY
    """Fields that name a record within its scope."""
    scope: tuple[str, ...] = ()
    """Fields that say to what a record belongs."""
    fields: Mapping[str, Mapping[str, Any]] = dataclasses.field(
        default_factory=dict[str, Mapping[str, Any]]
    )
    """Field to its JSON Schema, from output schemas first, then from what create and update take."""
    required: tuple[str, ...] = ()
    """Fields that every record must have in answers."""
    parents: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])
    """Scope field to the `table.field` that it names: `ticket_id: tickets.id`."""
    generated_key: bool = True
    """Whether the world gives new records their key; otherwise the caller names them."""
    records: tuple[Mapping[str, Any], ...] = ()
    """The records at the start, from the scenario."""
    generate: int | None = None
    """How many records are made up at the start; `None` leaves it to the engine."""


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One record and its place."""

    key: str
    """Its `KEY`: scope and key as JSON, or `#NUMBER` for a record without a key."""
    number: int
    record: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        return {"n": self.number, "record": self.record}


def table_path(table: str) -> str:
    """The state's key of a table."""
    return ROOT + quote(table, safe="")


def record_path(table: str, key: str) -> str:
    """The state's key of a record."""
    return f"{table_path(table)}/{key}"


def join_values(values: Sequence[Any]) -> str:
    """Values as a part of a key: their JSON without the brackets."""
    return canonical_json(list(values))[1:-1]


def scope_of(record: Mapping[str, Any], table: Table) -> str:
    """What the record belongs to, as text."""
    return join_values([get(record, path) for path in table.scope])


def key_of(record: Mapping[str, Any], table: Table, number: int) -> str:
    """The `KEY` of a record."""
    named = [get(record, path, MISSING) for path in table.key]
    if not named or any(value is MISSING or value is None for value in named):
        return f"#{number}"
    return join_values([*(get(record, path) for path in table.scope), *named])


def records_of_table(values: Mapping[str, Any], table: str) -> list[StoredRecord]:
    """All records of a table, in the order of insertion."""
    prefix = table_path(table) + "/"
    found = [
        StoredRecord(path.removeprefix(prefix), value["n"], value["record"])
        for path, value in values.items()
        if path.startswith(prefix) and not path.startswith(HIGHEST, len(prefix))
    ]
    return sorted(found, key=lambda one: one.number)


def tables_in(values: Mapping[str, Any]) -> list[str]:
    """The tables that the state has, by name."""
    rests = (path.removeprefix(ROOT) for path in values if path.startswith(ROOT))
    return sorted({unquote(rest.partition("/")[0]) for rest in rests})


MISSING: Any = object()
"""What `get` gives where there is nothing."""


def get(value: Any, path: str, default: Any = None) -> Any:
    """What stands at `path`; the whole value for an empty one. A field whose own name is the path
    goes first."""
    if not path:
        return value
    if not isinstance(value, Mapping):
        return default
    fields = cast("Mapping[str, Any]", value)
    if path in fields:
        return fields[path]
    first, dot, rest = path.partition(".")
    if not dot or first not in fields:
        return default
    return get(fields[first], rest, default)


def put(value: dict[str, Any], path: str, given: Any) -> None:
    """Writes `given` at `path`, making what is needed on the way. Nothing is shared with `given`."""
    if path in value or "." not in path:
        value[path] = copy.deepcopy(given)
        return
    first, _, rest = path.partition(".")
    inner = value.get(first)
    inner = dict(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else {}
    value[first] = inner
    put(inner, rest, given)


EXACT = 2**53
"""Whole numbers below this are the same in every JSON reader."""

_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d{1,15})\Z", re.DOTALL)


def key_number(key: Any) -> int | None:
    """The number in a generated key: of `12` and of `PREFIX-12`."""
    if isinstance(key, int) and not isinstance(key, bool):
        return key if abs(key) < EXACT else None
    if isinstance(key, str) and (parts := split_number(key)) is not None:
        return int(parts[1])
    return None


def split_number(key: str) -> tuple[str, str] | None:
    """`ENG-12` → `ENG-` and `12`; `None` for a text that does not end in a number of its own."""
    parts = _ENDS_IN_NUMBER.match(key)
    if parts is None or not parts[2].isascii() or re.search(r"[0-9]", parts[1]):
        return None
    return parts[1], parts[2]
