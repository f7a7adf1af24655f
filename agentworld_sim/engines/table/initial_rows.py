"""The records a table begins with: the scenario's, or made up from what is known of its fields.

They depend on the world's seed, its day and the plan alone, and never on what was called before. So two
tables may refer to each other, whichever is touched first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentworld_sim.engines.table.generate import Maker
from agentworld_sim.engines.table.json_schemas import Schema, nullable, resolve_schema, types_of
from agentworld_sim.engines.table.keys import next_key
from agentworld_sim.engines.table.operation import Plan
from agentworld_sim.engines.table.plausible import PEOPLE, SeededRandom, creation_time_us
from agentworld_sim.engines.table.table_errors import singular_table
from agentworld_sim.engines.table.words import snake
from agentworld_sim.errors import UsageError
from agentworld_sim.relational.layout import (
    BEGUN,
    MISSING,
    StoredRecord,
    Table,
    get,
    key_number,
    key_of,
    put,
    record_path,
    table_path,
)

USUAL = 5
"""Records that are made up where the plan does not say how many."""

_DAY_US = 86_400_000_000
_ENDS = ("_id", "_key", "_number", "_login", "_name", "_slug", "_uuid", "_email", "_username")
_BY = re.compile(r"(?:created|updated|assigned|owned|reported|requested|sent|closed)_(?:by|to)")
_AFTERWARDS = re.compile(
    r"(closed|merged|completed|deleted|archived|resolved|cancell?ed|finished|locked|deactivated)"
    r"_(?:at|by|on|date)"
)


def initial_records(plan: Plan, table: Table, *, seed: int, clock_us: int) -> list[StoredRecord]:
    """The first records of a table, their fields in no order. Raises `UsageError` when two of the scenario have one key."""
    return _InitialRecords(plan, seed, clock_us // _DAY_US * _DAY_US).stored_records(table)


def initial_values(table: Table, records: Sequence[StoredRecord]) -> dict[str, Any]:
    """What the state holds once a table has its first records."""
    values: dict[str, Any] = {table_path(table.name): dict(BEGUN)}
    values.update((record_path(table.name, one.key), one.to_json()) for one in records)
    return values


@dataclass(slots=True)
class _InitialRecords:
    plan: Plan
    seed: int
    day_us: int
    _under_way: list[str] = field(default_factory=list[str])

    def stored_records(self, table: Table) -> list[StoredRecord]:
        found: dict[str, StoredRecord] = {}
        for number, record in enumerate(self.records(table), 1):
            key = key_of(record, table, number)
            if key in found and number > len(table.records):
                # A key that has few values, as an enumeration has, runs out.
                continue
            if key in found:
                raise UsageError(
                    f"the table {table.name!r} begins with two records whose key is {key}. Change"
                    f" {' and '.join(table.key)} of one of them in the scenario."
                )
            found[key] = StoredRecord(key, number, record)
        return list(found.values())

    def records(self, table: Table) -> list[dict[str, Any]]:
        """The records, without their places."""
        if table.name in self._under_way:
            return []
        self._under_way.append(table.name)
        try:
            if table.records:
                given = self._complete_records(table)
                return given + self._invent_records(table, table.generate or 0, beside=given)
            count = table.generate
            if count is None:
                own = set(table.fields) - {*table.key, *table.scope}
                count = USUAL if own else 0
            return self._invent_records(table, count)
        finally:
            self._under_way.pop()

    def _complete_records(self, table: Table) -> list[dict[str, Any]]:
        """The scenario's records, with the keys and the fields that answers must have."""
        records = [dict(record) for record in table.records]
        given = [record for record in records if _has_key(record, table)]
        for place, record in enumerate(records):
            self._give_key(
                record, table, given, SeededRandom(self.seed, table.name, place), new=True
            )
            given.append(record)
            maker = self._maker(SeededRandom(self.seed, table.name, place), new=True)
            for name in table.required:
                if get(record, name, MISSING) is MISSING:
                    schema = table.fields.get(name, {})
                    put(record, name, maker.value(schema, name, about=table.name))
        return records

    def _invent_records(
        self, table: Table, count: int, *, beside: Sequence[dict[str, Any]] = ()
    ) -> list[dict[str, Any]]:
        draws = [SeededRandom(self.seed, table.name, number) for number in range(count)]
        # The oldest first, as they would have been made.
        draws.sort(key=lambda draw: creation_time_us(draw, self.day_us))
        parents = self._parents(table)
        records: list[dict[str, Any]] = []
        for draw in draws:
            record = self._scope(table, parents, draw)
            maker = self._maker(draw)
            for name, schema in table.fields.items():
                if name in record or name in table.key:
                    continue
                referred = self._reference_value(table, name, schema, draw)
                if referred is MISSING:
                    referred = maker.value(schema, name, about=table.name)
                record[name] = referred
            self._settle(table, record)
            self._give_key(record, table, [*beside, *records], draw)
            records.append(record)
        return records

    def _maker(self, draw: SeededRandom, *, new: bool = False) -> Maker:
        return Maker(draw=draw, clock_us=self.day_us, new=new)

    def _give_key(
        self,
        record: dict[str, Any],
        table: Table,
        others: Sequence[Mapping[str, Any]],
        draw: SeededRandom,
        *,
        new: bool = False,
    ) -> None:
        for path in table.key:
            if get(record, path) is not None:
                continue
            schema = resolve_schema(table.fields.get(path, {}))
            held = [get(other, path) for other in others]
            if not table.generated_key and not new and "string" in types_of(schema):
                key = self._maker(draw).value(schema, path, about=table.name)
                while key in held:
                    key = f"{key} {len(held) + 1}"
            else:
                key = next_key(
                    path,
                    schema,
                    record,
                    table=table.name,
                    highest=max((key_number(one) or 0 for one in held), default=0),
                    like=next((one for one in held if one is not None), None),
                    draw=draw.derive("key", path),
                    taken=held.__contains__,
                )
            put(record, path, key)

    # What belongs to what

    def _parents(self, table: Table) -> list[tuple[dict[str, str], list[dict[str, Any]]]]:
        """Tables whose records the scope names: scope field to their field, and their records."""
        left = list(table.scope)
        found: list[tuple[dict[str, str], list[dict[str, Any]]]] = []
        candidates: list[tuple[dict[str, str], Table]] = []
        for other in self._of_server(table).values():
            if other.name != table.name:
                candidates.append((_shared_fields(left, other), other))
        candidates.sort(key=lambda one: -len(one[0]))
        for name, where in table.parents.items():
            told = self.plan.tables.get(where.partition(".")[0])
            if told is None or told.name == table.name:
                continue
            both = {one: one for one in table.scope if one in told.scope}
            candidates.insert(0, ({**both, name: where.partition(".")[2]}, told))
        for fields, other in candidates:
            useful = {name: path for name, path in fields.items() if name in left}
            records = self.records(other) if useful else []
            if records:
                found.append((useful, records))
                left = [name for name in left if name not in useful]
        return found

    def _scope(
        self,
        table: Table,
        parents: Sequence[tuple[dict[str, str], list[dict[str, Any]]]],
        draw: SeededRandom,
    ) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for place, (fields, records) in enumerate(parents):
            parent = draw.one_of(records, ("parent", place))
            for name, path in fields.items():
                put(record, name, get(parent, path))
        for name in table.scope:
            if get(record, name) is None:
                # The same in every table, so that what belongs together is found together.
                maker = self._maker(SeededRandom(self.seed, "scope"))
                schema = table.fields.get(name, {"type": "string"})
                put(record, name, maker.value(schema, name, about=name))
        return record

    def _reference_value(self, table: Table, name: str, schema: Schema, draw: SeededRandom) -> Any:
        """A value that names a record of another table, if the field is one that does."""
        other = self._reference(table, name)
        if other is None or other.name == table.name:
            return MISSING
        kinds = set(types_of(resolve_schema(schema)))
        if "enum" in schema or not kinds <= {"string", "integer", "number", "null"}:
            return MISSING
        records = self.records(other)
        if not records:
            return MISSING
        record = draw.one_of(records, ("refers", name))
        named = (other.key[-1], "login", "username", "name", "email")
        for path in named:
            value = get(record, path)
            kind = "string" if isinstance(value, str) else "integer"
            if isinstance(value, str | int) and (not kinds or kind in kinds):
                return value
        return MISSING

    def _of_server(self, table: Table) -> dict[str, Table]:
        """The tables of the same server, by their names there."""
        server = table.name.rpartition("__")[0]
        return {
            name.rpartition("__")[2]: other
            for name, other in self.plan.tables.items()
            if name.rpartition("__")[0] == server
        }

    def _reference(self, table: Table, name: str) -> Table | None:
        bare = snake(name)
        for end in _ENDS:
            if bare.endswith(end) and bare != end[1:]:
                bare = bare.removesuffix(end)
                break
        else:
            if bare not in PEOPLE and not _BY.fullmatch(bare):
                return None
        tables = self._of_server(table)
        for own, other in tables.items():
            if singular_table(own).replace(" ", "_") == bare or own == bare:
                return other
        if bare in PEOPLE or _BY.fullmatch(bare):
            people = ("users", "members", "people", "employees", "accounts", "authors", "contacts")
            return next((tables[one] for one in people if one in tables), None)
        return None

    def _settle(self, table: Table, record: dict[str, Any]) -> None:
        """What has not happened to a record has no time at which it did."""
        states = {value for value in record.values() if isinstance(value, str)}
        for name, schema in table.fields.items():
            happened = _AFTERWARDS.fullmatch(snake(name))
            if happened and happened[1] not in states and nullable(schema):
                record[name] = None


def _shared_fields(scope: Sequence[str], other: Table) -> dict[str, str]:
    """Which fields of a scope another table's records give."""
    found: dict[str, str] = {}
    thing = singular_table(other.name).replace(" ", "_")
    for name in scope:
        if name in (*other.key, *other.scope) and name not in ("id", "name", "key", "number"):
            found[name] = name
            continue
        bare = snake(name)
        for end in _ENDS:
            bare = bare.removesuffix(end)
        if bare in (thing, other.name) or (len(bare) > 3 and thing.startswith(bare)):
            found[name] = other.key[-1] if other.key else "id"
    return found


def _has_key(record: Mapping[str, Any], table: Table) -> bool:
    return all(get(record, path) is not None for path in table.key)
