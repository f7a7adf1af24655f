"""Carrying out one call on the records."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from agentworld_sim.engines.table import table_errors, times
from agentworld_sim.engines.table.expressions import (
    CannotEvaluate,
    evaluate,
    fill_template,
    is_true,
)
from agentworld_sim.engines.table.generate import Maker
from agentworld_sim.engines.table.json_schemas import alternative_types, not_null, resolve_schema
from agentworld_sim.engines.table.keys import next_key, project_of
from agentworld_sim.engines.table.operation import Role
from agentworld_sim.engines.table.plausible import SeededRandom
from agentworld_sim.engines.table.query import SAME, Filter, order_fields
from agentworld_sim.engines.table.record_index import Query, RecordIndex
from agentworld_sim.engines.table.request import TableRequest
from agentworld_sim.engines.table.words import snake
from agentworld_sim.relational.layout import (
    HIGHEST,
    MISSING,
    StoredRecord,
    get,
    join_values,
    key_number,
    key_of,
    put,
    record_path,
    scope_of,
)

MAPS = frozenset("fields properties attributes data custom_fields customFields values".split())
"""Fields that hold the caller's own fields: an update changes those of them that it mentions."""


@dataclass(slots=True)
class Outcome:
    """What was computed, before it takes the form of an answer."""

    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    several: bool = False
    """Whether it is a list, also when it has one record."""
    total: int | None = None
    """Records before limits."""
    cursor: Any = None
    """What fetches the next page."""
    more: bool = False
    keys: list[str] = field(default_factory=list[str])
    """The `KEY`s of the records."""


@dataclass(slots=True)
class Execution:
    """One call, on an index that the caller marked and may roll back."""

    asked: TableRequest
    index: RecordIndex
    values: Mapping[str, Any]
    """The world's values."""
    clock_us: int
    draw: SeededRandom
    """Of this turn."""
    written: dict[str, Any] = field(default_factory=dict[str, Any])
    """The values that change."""

    def run(self) -> Outcome:
        """Raises `ToolError` when the server would; then nothing of it counts."""
        does = self.asked.operation.does
        if does in ("create", "upsert", "list", "search", "count"):
            self._require_parents(self.asked.scope)
        match does:
            case "create":
                return self._create()
            case "list" | "search":
                return self._list()
            case "count":
                self._require({})
                return Outcome(total=len(self.index.find(self._table, self._query())))
            case "read":
                return self._read()
            case "update":
                return self._update()
            case "upsert":
                return self._upsert()
            case "delete":
                return self._delete()

    @property
    def _table(self) -> str:
        return self.asked.table.name

    # Finding

    def _require_parents(self, given: Mapping[str, Any]) -> None:
        """Raises `ToolError` when what records with these fields belong to is not there."""
        for path, where in self.asked.table.parents.items():
            name, _, named = where.partition(".")
            parent = self.asked.plan.tables.get(name)
            value = get(given, path)
            if value is None or parent is None or not self.index.has(name):
                continue
            shared = [one for one in parent.scope if get(given, one) is not None and one != path]
            filters = [Filter(one, SAME, get(given, one)) for one in shared]
            filters.append(Filter(named, SAME, value))
            # Where nothing ever makes one, nobody could have named it.
            known = self.index.find(name, Query()) or any(
                one.table == name and one.does in ("create", "upsert")
                for one in self.asked.plan.operations.values()
            )
            if known and not self.index.find(name, Query(filters=filters)):
                raise table_errors.not_found(name, [value])

    def _read(self) -> Outcome:
        found = self._named_records()
        for one in found:
            self._require(one.record)
        return self._outcome(found)

    def _list(self) -> Outcome:
        self._require({})
        path, down = self.asked.order(self._fields())
        query = replace(self._query(), sort=path, descending=down)
        limit = self.asked.limit()
        offset = self.asked.offset(limit)
        every = self.index.find(self._table, query)
        total = len(every)
        found = every[offset:] if limit is None else every[offset : offset + limit]
        more = offset + len(found) < total and bool(limit)
        outcome = self._outcome(found)
        outcome.several, outcome.total, outcome.more = True, total, more
        if more and limit is not None:
            outcome.cursor = self.asked.next_cursor(offset, limit)
        return outcome

    def _query(self) -> Query:
        asked = self.asked
        keys = asked.keys
        filters = asked.filters()
        for path in keys[0] if keys else ():
            # A key in a list narrows it; several name several.
            filters.append(Filter(path, "one_of", [key[path] for key in keys or ()]))
        scope = asked.whole_scope if asked.table.scope else None
        return Query(scope=scope, filters=filters, words=asked.words())

    def _named_records(self) -> list[StoredRecord]:
        """The records that the call names. Raises `ToolError` when one is not there."""
        keys = self.asked.keys
        if keys is None:
            query = replace(self._query(), filters=[*self._conditions()])
            found = self.index.find(self._table, query)
            if not found:
                raise table_errors.not_found(self._table, list(self.asked.scope.values()))
            return list(found[:1])
        named: list[StoredRecord] = []
        for key in keys:
            found_one = self._at(key)
            if found_one is None:
                raise table_errors.not_found(self._table, self._shown_key(key))
            named.append(found_one)
        return named

    def _conditions(self) -> Iterable[Filter]:
        """What a record must be like that is not named: for update its fields are not compared."""
        if self.asked.operation.does in ("update", "upsert"):
            written = set(self.asked.operation.fixed)
            written |= {
                argument.field or name for name, argument, _ in self.asked.arguments_with("field")
            }
            return [one for one in self.asked.filters() if one.path not in written]
        return self.asked.filters()

    def _shown_key(self, key: Mapping[str, Any]) -> list[Any]:
        own = [value for path, value in key.items() if path not in self.asked.table.scope]
        return own or list(key.values())

    def _at(self, key: Mapping[str, Any]) -> StoredRecord | None:
        table = self.asked.table
        scope = {**self.asked.scope, **{path: key[path] for path in table.scope if path in key}}
        whole = all(path in scope for path in table.scope)
        if whole and table.key and set(key) - set(table.scope) == set(table.key):
            wanted = [*(scope[path] for path in table.scope), *(key[path] for path in table.key)]
            return self.index.at(self._table, join_values(wanted))
        filters = [Filter(path, SAME, value) for path, value in {**scope, **key}.items()]
        return next(iter(self.index.find(self._table, Query(filters=filters))), None)

    # Writing

    def _create(self) -> Outcome:
        base = self._base()
        items = self.asked.items()
        made: list[StoredRecord] = []
        for place, item in enumerate([{}] if items is None else items):
            record = copy.deepcopy(base)
            for path, value in item.items():
                put(record, path, value)
            made.append(self._insert(record, self.draw.derive(place)))
        outcome = self._outcome(made)
        outcome.several = items is not None and self.asked.is_plural
        return outcome

    def _base(self) -> dict[str, Any]:
        """What every record that the call makes has."""
        record: dict[str, Any] = {}
        given = self._fields_given("field", "key")
        for path, value in {**self.asked.scope, **self.asked.operation.fixed, **given}.items():
            put(record, path, value)
        return record

    def _fields_given(self, *roles: Role) -> dict[str, Any]:
        return {
            argument.field or name: self.asked.coerce(
                argument.field or name, self.asked.resolve_value(argument, value)
            )
            for name, argument, value in self.asked.arguments_with(*roles)
        }

    def _insert(self, record: dict[str, Any], draw: SeededRandom) -> StoredRecord:
        table = self.asked.table
        self._complete(record, draw)
        self._require(record)
        number = self.index.next_number(self._table)
        key = key_of(record, table, number)
        if self.index.at(self._table, key) is not None:
            raise table_errors.already_exists(
                self._table, [get(record, path) for path in table.key]
            )
        return self._put(StoredRecord(key, number, record))

    def _complete(self, record: dict[str, Any], draw: SeededRandom) -> None:
        """What the server itself adds: times, the fields it always has, and last the key."""
        table = self.asked.table
        latest = self.index.latest(self._table) or {}
        maker = Maker(draw=draw, clock_us=self.clock_us, new=True, moments=latest)
        for name, schema in table.fields.items():
            if name in table.key or get(record, name, MISSING) is not MISSING:
                continue
            own = resolve_schema(schema)
            if self._is_stamp(name):
                form = not_null(own)
                record[name] = times.format_moment(self.clock_us, name, form, latest.get(name))
            elif "default" in own:
                record[name] = copy.deepcopy(own["default"])
            elif name in table.required:
                record[name] = maker.value(schema, name, about=table.name)
        for path in table.key:
            if get(record, path) is None:
                put(record, path, self._next_key(path, record, draw.derive("key", path)))

    def _is_stamp(self, name: str) -> bool:
        if snake(name) not in times.MADE | times.CHANGED:
            return False
        kinds = alternative_types(self.asked.table.fields.get(name, {}))
        return not kinds or bool(kinds & {"string", "integer", "number"})

    def _next_key(self, path: str, record: Mapping[str, Any], draw: SeededRandom) -> Any:
        table = self.asked.table
        # `ENG-12` says to what it belongs.
        own = not self._named_alone or bool(project_of(path, record))
        scope = scope_of(record, table) if own else None
        highest, like = self.index.highest(self._table, scope)
        latest = self.index.latest(self._table)
        if like is None and latest is not None:
            like = get(latest, path)
        gone = self._value(record_path(self._table, HIGHEST + (scope or "")))
        place = [*(get(record, one) for one in table.scope)]
        last = path == table.key[-1]

        def is_taken(key: Any) -> bool:
            if last and scope is None:
                asked = Query(filters=[Filter(path, SAME, key)])
                return bool(self.index.find(self._table, asked))
            named = [key if one == path else get(record, one) for one in table.key]
            wanted = join_values([*place, *named])
            return last and self.index.at(self._table, wanted) is not None

        return next_key(
            path,
            not_null(table.fields.get(path, {})),
            record,
            table=self._table,
            highest=max(highest, gone or 0),
            like=like,
            draw=draw,
            taken=is_taken,
        )

    @property
    def _named_alone(self) -> bool:
        """Whether a tool names records by their key, without what they belong to: then no two of the
        whole table have the same."""
        scope = set(self.asked.table.scope)
        for one in self.asked.plan.operations.values():
            if one.table != self._table or one.does not in ("read", "update", "delete"):
                continue
            roles = [
                (argument.role, argument.field or name) for name, argument in one.arguments.items()
            ]
            given = {name for role, name in roles if role == "scope"}
            if scope - given and any(role == "key" for role, _ in roles):
                return True
        return False

    def _update(self) -> Outcome:
        items = self.asked.items()
        changes = {**self.asked.operation.fixed, **self._fields_given("field")}
        if items is not None and self.asked.keys is not None and not self.asked.carries_list:
            # The record is named beside an object that holds what changes.
            changes, items = {**changes, **{k: v for one in items for k, v in one.items()}}, None
        if items is None:
            changed = [self._change(one, changes) for one in self._named_records()]
            return self._outcome(changed)
        own = (*self.asked.table.key, *self.asked.table.scope)
        done: list[StoredRecord] = []
        for item in items:
            key = {path: item[path] for path in own if path in item}
            found = self._at(key) if key else None
            if found is None:
                raise table_errors.not_found(self._table, self._shown_key(key or item))
            done.append(self._change(found, {**changes, **item}))
        outcome = self._outcome(done)
        outcome.several = True
        return outcome

    def _change(self, before: StoredRecord, changes: Mapping[str, Any]) -> StoredRecord:
        table = self.asked.table
        self._require(before.record)
        record: dict[str, Any] = copy.deepcopy(dict(before.record))
        for path, value in changes.items():
            held = get(record, path)
            own = path in MAPS and self.asked.operation.does == "update"
            if own and isinstance(held, dict) and isinstance(value, dict):
                # What is not mentioned stays.
                value = {**cast("dict[str, Any]", held), **cast("dict[str, Any]", value)}
            put(record, path, value)
        for path, expression in self.asked.operation.changes.items():
            try:
                value = evaluate(expression, before.record, self.asked.given)
            except CannotEvaluate as error:
                shown = table_errors.record_label(
                    self._table, [get(record, one) for one in table.key]
                )
                raise table_errors.ToolError(f"{shown}: cannot change {path}: {error}") from None
            put(record, path, value)
        for name in dict.fromkeys([*table.fields, *record]):
            stamped = snake(name) in times.CHANGED and self._is_stamp(name)
            if stamped and name not in changes and name not in self.asked.operation.changes:
                form = not_null(table.fields.get(name, {}))
                example = before.record.get(name)
                record[name] = times.format_moment(self.clock_us, name, form, example)
        if any(get(record, path) != get(before.record, path) for path in table.parents):
            self._require_parents(record)
        key = key_of(record, table, before.number)
        if key != before.key:
            if self.index.at(self._table, key) is not None:
                named = [get(record, path) for path in table.key]
                raise table_errors.already_exists(self._table, named)
            self._forget(before)
        return self._put(StoredRecord(key, before.number, record))

    def _upsert(self) -> Outcome:
        items = self.asked.items()
        base = self._base()
        wanted = [base] if items is None else [{**base, **item} for item in items]
        own = (*self.asked.table.key, *self.asked.table.scope)
        done: list[StoredRecord] = []
        for place, fields in enumerate(wanted):
            key = {path: get(fields, path) for path in own if get(fields, path) is not None}
            named = any(path in key for path in self.asked.table.key)
            found = self._at(key) if named else None
            if found is not None:
                done.append(self._change(found, fields))
            else:
                record: dict[str, Any] = {}
                for path, value in fields.items():
                    put(record, path, value)
                done.append(self._insert(record, self.draw.derive(place)))
        outcome = self._outcome(done)
        outcome.several = items is not None and self.asked.is_plural
        return outcome

    def _delete(self) -> Outcome:
        found = self._named_records()
        for one in found:
            self._require(one.record)
        for one in {stored.key: stored for stored in found}.values():
            self._forget(one)
        return self._outcome(found)

    # Keeping

    def _put(self, stored: StoredRecord) -> StoredRecord:
        stored = order_fields(stored, self.asked.table)
        self.index.put(self._table, stored)
        self.written[record_path(self._table, stored.key)] = stored.to_json()
        return stored

    def _forget(self, stored: StoredRecord) -> None:
        table = self.asked.table
        self.index.remove(self._table, stored.key)
        self.written[record_path(self._table, stored.key)] = None
        number = key_number(get(stored.record, table.key[-1])) if table.key else None
        if number is None or not table.generated_key:
            return
        own = not self._named_alone or bool(project_of(table.key[-1], stored.record))
        scope = scope_of(stored.record, table) if own else ""
        path = record_path(self._table, HIGHEST + scope)
        # A number that was given out once is never given out again.
        if number > (self._value(path) or 0):
            self.written[path] = number

    def _value(self, path: str) -> Any:
        return self.written[path] if path in self.written else self.values.get(path)

    def _require(self, record: Mapping[str, Any]) -> None:
        """Raises the tool's own error when a condition of the scenario does not hold."""
        for expression, text in self.asked.operation.requires.items():
            if not is_true(expression, record, self.asked.given):
                raise table_errors.ToolError(fill_template(text, record, self.asked.given))

    def _outcome(self, found: Sequence[StoredRecord]) -> Outcome:
        return Outcome(
            # Whoever gets the answer may change it.
            records=[copy.deepcopy(dict(one.record)) for one in found],
            several=self.asked.is_plural,
            keys=[one.key for one in found],
        )

    def _fields(self) -> list[str]:
        """The fields that records have."""
        latest = self.index.latest(self._table) or {}
        table = self.asked.table
        return list(dict.fromkeys([*table.fields, *latest, *table.key, *table.scope]))
