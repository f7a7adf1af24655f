"""Making a value fit a schema: what is missing is filled in, what is forbidden is dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.table.call_execution import Outcome
from agentworld_sim.engines.table.generate import Maker
from agentworld_sim.engines.table.json_schemas import (
    Schema,
    alternative_types,
    alternatives,
    at,
    not_null,
    nullable,
    properties_of,
    resolve_schema,
    shape,
    types_of,
    unsaid_result,
)
from agentworld_sim.engines.table.operation import Output
from agentworld_sim.engines.table.outputs import COUNTS, MESSAGES, SUCCESSES, TOTALS
from agentworld_sim.engines.table.query import number, same
from agentworld_sim.engines.table.request import NotComputed, TableRequest
from agentworld_sim.engines.table.table_errors import record_label, singular_table
from agentworld_sim.engines.table.words import snake
from agentworld_sim.errors import UsageError
from agentworld_sim.relational.layout import MISSING, get, put
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.turns import Observation

FieldLookup = Callable[[str, set[str], str], Any]
"""Gives what a missing field is known to be: its name, its types, its place; or `MISSING`."""

_DEEPEST = 24


@dataclass(frozen=True, slots=True)
class ValueFitter:
    """Fits values. What a record says stays as it is wherever it may."""

    maker: Maker
    roots: Sequence[Schema]
    known: FieldLookup

    def fit(self, value: Any, schema: Any, path: str = "", name: str = "") -> Any:
        """`value` as `schema` wants it."""
        own = resolve_schema(schema, self.roots)
        depth = path.count(".") + path.count("[")
        if depth > _DEEPEST:
            return value
        if value is None:
            return None if nullable(own, self.roots) or not own else self._fill(own, path, name)
        kinds = alternative_types(own, self.roots)
        choices = alternatives(own)
        if choices:
            own = self._nearest(value, choices, own)
            kinds = set(types_of(own))
        if isinstance(value, dict) and ("object" in kinds or not kinds):
            return self._object(cast("dict[str, Any]", value), own, path)
        if isinstance(value, list) and ("array" in kinds or not kinds):
            return self._array(cast("list[Any]", value), own, path, name)
        if "string" in kinds and isinstance(value, int | float):
            return json.dumps(value)
        if "integer" in kinds and isinstance(value, str) and (found := number(value)) is not None:
            return int(found) if found == found.to_integral_value() else value
        # An answer that has no place for records says only how it went.
        return self._object({}, own, path) if "object" in kinds else cast("Any", value)

    def _nearest(self, value: Any, choices: Sequence[Any], own: Schema) -> Schema:
        """The alternative that fits the value best."""
        rest = {key: one for key, one in own.items() if key not in ("anyOf", "oneOf")}
        options: list[Schema] = [
            {**rest, **resolve_schema(choice, self.roots)} for choice in choices
        ]

        def score(option: Schema) -> int:
            inner = not_null(option, self.roots) if alternatives(option) else option
            fits = _fits_type(value, set(types_of(inner)))
            points = 2 * fits + _is_listed(value, inner)
            if fits and isinstance(value, dict):
                mine = set(cast("dict[str, Any]", value))
                points += mine >= set(cast("list[str]", inner.get("required") or ()))
            return points

        best = max(options, key=score)
        return not_null(best, self.roots) if alternatives(best) else best

    def _object(self, value: dict[str, Any], own: Schema, path: str) -> dict[str, Any]:
        named = cast("Mapping[str, Any]", own.get("properties") or {})
        # A server whose answers are described field by field sends no others.
        others = own.get("additionalProperties", not named)
        fitted: dict[str, Any] = {}
        for key, one in value.items():
            place = f"{path}.{key}"
            if key in named:
                if one is None and not nullable(named[key], self.roots):
                    # Left out where it may be, and otherwise filled in below.
                    continue
                fitted[key] = self.fit(one, named[key], place, key)
            elif others is not False:
                fitted[key] = self.fit(one, others, place, key)
        for key in cast("list[str]", own.get("required") or ()):
            if key not in fitted:
                inner = named.get(key, others if isinstance(others, Mapping) else {})
                fitted[key] = self._fill(inner, f"{path}.{key}", key)
        return fitted

    def _array(self, value: list[Any], own: Schema, path: str, name: str) -> list[Any]:
        first = cast("list[Any]", own.get("prefixItems") or [])
        items = own.get("items", {})
        return [
            self.fit(one, first[place] if place < len(first) else items, f"{path}[{place}]", name)
            for place, one in enumerate(value)
        ]

    def _fill(self, schema: Any, path: str, name: str) -> Any:
        """A value where there is none."""
        own = resolve_schema(schema, self.roots)
        kinds = alternative_types(own, self.roots)
        known = self.known(name, kinds, path.lstrip("."))
        if known is not MISSING and known is not None:
            return self.fit(known, own, path, name)
        shallow = path.count(".") + path.count("[") <= _DEEPEST
        if "object" in kinds and "null" not in kinds and shallow:
            return self._object({}, not_null(own, self.roots), path)
        return self.maker.value(own, name or "value", path=path.lstrip("."))


def _fits_type(value: Any, kinds: set[str]) -> bool:
    if value is None:
        return "null" in kinds
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int | float):
        return "number" in kinds or ("integer" in kinds and value == int(value))
    if isinstance(value, str):
        return "string" in kinds
    return ("array" if isinstance(value, list) else "object") in kinds


def _is_listed(value: Any, schema: Any) -> bool:
    """Whether the value is among those that the schema lists, if it lists any."""
    if not isinstance(schema, Mapping):
        return True
    held = cast("Schema", schema)
    if "const" in held:
        return same(held["const"], value)
    listed = held.get("enum")
    return not isinstance(listed, list) or any(
        same(one, value) for one in cast("list[Any]", listed)
    )


_WRAPS = "x-fastmcp-wrap-result"
"""In an output schema: the content is `{"result": value}`, and the text is the value's."""

_DONE = {
    "create": "created",
    "update": "updated",
    "upsert": "saved",
    "delete": "deleted",
    "read": "found",
    "list": "found",
    "search": "found",
    "count": "counted",
}


def observation(asked: TableRequest, outcome: Outcome, maker: Maker) -> Observation:
    """What the agent sees; `maker` fills in what the output schema demands and no record says.

    Raises:
        NotComputed: no answer with these records fits the output schema.
    """
    schema = asked.tool.output_schema
    unsaid = _unspecified_path(asked, schema)
    value = _place_content(asked, outcome, None if unsaid else schema)
    if schema is None:
        return Observation(text=text_of(value))
    if unsaid:
        value = {unsaid: value if _holds(schema, unsaid, value) else text_of(value)}
    wanted = asked.operation.output.schema or schema
    known = _FieldMeanings(asked, outcome)
    value = ValueFitter(maker, (schema, wanted), known.value).fit(value, schema)
    problem = _problem(schema, value)
    if problem is not None:
        raise NotComputed(f"no answer fits its output schema: {problem}")
    if isinstance(value, dict) and (schema.get(_WRAPS) or _is_wrapped(schema)):
        return Observation(text=text_of(cast("dict[str, Any]", value)["result"]), structured=value)
    return Observation(text=text_of(value), structured=value)


def _unspecified_path(asked: TableRequest, schema: Schema | None) -> str | None:
    """Where the answer goes in a schema that says nothing of it, if nobody else says so."""
    output = asked.operation.output
    if schema is None or output.record or output.records:
        return None
    return unsaid_result(shape(schema))


def _holds(schema: Schema, name: str, value: Any) -> bool:
    """Whether a property may be `value` itself and not its text."""
    kinds = alternative_types(at(schema, name, (schema,)), (schema,))
    kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else "string"
    return not kinds or kind in kinds


def _is_wrapped(schema: Schema) -> bool:
    """Whether the protocol's Python SDK put the value into an object: its text is the bare value."""
    named = properties_of(schema, (schema,))
    return list(named) == ["result"] and str(schema.get("title", "")).endswith("Output")


def text_of(value: Any) -> str:
    """The text beside structured content, as the protocol's Python SDK writes it."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2)


def _problem(schema: Schema, value: Any) -> str | None:
    try:
        return schema_problem(schema, value)
    except (UsageError, RecursionError) as error:
        raise NotComputed(f"its output schema cannot be used: {error}") from None


def _place_content(asked: TableRequest, outcome: Outcome, schema: Schema | None) -> Any:
    """What was computed at the places where the answer carries it."""
    output = asked.operation.output
    does = asked.operation.does
    around = _surroundings(asked, outcome)
    if does == "count":
        counted: dict[str, Any] = {}
        for place, value in around.items():
            put(counted, place, value)
        return _numbers(asked, outcome, counted, schema) or outcome.total
    items: list[Any] = [_select_fields(asked, record) for record in outcome.records]
    if output.values:
        items = [get(record, output.values) for record in outcome.records]
    listed = outcome.several or does in ("list", "search")
    content: Any = items
    if not listed:
        content = items[0] if items else None
    path = output.records if listed else output.record
    root: dict[str, Any] = {}
    if not path and not listed and isinstance(content, dict):
        root.update(cast("dict[str, Any]", content))
    elif not path and not around and not _counts(output):
        return content
    else:
        put(root, path or ("items" if listed else singular_table(asked.table.name)), content)
    for place, value in around.items():
        put(root, place, value)
    return _numbers(asked, outcome, root, schema)


def _surroundings(asked: TableRequest, outcome: Outcome) -> dict[str, Any]:
    """What stands beside the records, by its path."""
    output, given = asked.operation.output, asked.given
    around = dict(output.fixed)
    around |= {place: given[name] for place, name in output.arguments.items() if name in given}
    if output.message is not None:
        around[output.message] = _message(asked, outcome)
    return around


def _numbers(
    asked: TableRequest, outcome: Outcome, root: dict[str, Any], schema: Schema | None
) -> dict[str, Any]:
    """`root` with counts and what fetches the next page."""
    output = asked.operation.output
    counting = asked.operation.does == "count"
    if output.total is not None:
        put(root, output.total, len(outcome.records) if outcome.total is None else outcome.total)
    if output.count is not None:
        put(root, output.count, outcome.total if counting else len(outcome.records))
    if output.more is not None:
        put(root, output.more, outcome.more)
    if output.cursor is not None and (outcome.cursor is not None or _needs(schema, output.cursor)):
        put(root, output.cursor, outcome.cursor)
    return root


def _needs(schema: Schema | None, path: str) -> bool:
    """Whether an answer must have what stands at a path."""
    if schema is None:
        return False
    inside, _, last = path.rpartition(".")
    return last in at(schema, inside, (schema,)).get("required", ())


def _counts(output: Output) -> bool:
    """Whether an answer says more than its records."""
    return any((output.total, output.count, output.cursor, output.more))


def _select_fields(asked: TableRequest, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record, or the fields of it that were asked for."""
    fields = asked.fields()
    if fields is None:
        return dict(record)
    # A word that is no field of any record, such as `full`, asks for nothing in particular.
    wanted = [name for name in fields if get(record, name, MISSING) is not MISSING]
    if not wanted:
        return dict(record)
    shown: dict[str, Any] = {}
    for name in dict.fromkeys([*asked.table.key, *wanted]):
        if get(record, name, MISSING) is not MISSING:
            put(shown, name, get(record, name))
    return shown


def _message(asked: TableRequest, outcome: Outcome) -> str:
    """What was done, for people."""
    table, done = asked.table, _DONE[asked.operation.does]
    if len(outcome.records) == 1 and not outcome.several:
        key = [get(outcome.records[0], path) for path in table.key]
        return f"{record_label(table.name, key)} {done}"
    count = len(outcome.records) if outcome.total is None else outcome.total
    what = (
        singular_table(table.name)
        if count == 1
        else table.name.rpartition("__")[2].replace("_", " ")
    )
    return f"{count} {what} {done}"


@dataclass(frozen=True, slots=True)
class _FieldMeanings:
    """What an answer's own fields mean."""

    asked: TableRequest
    outcome: Outcome

    def value(self, name: str, kinds: set[str], path: str) -> Any:
        """The value of a field that the schema demands and the computed content lacks; `path` has places in lists."""
        record = self._record(path)
        word = snake(name)
        if record is not None:
            found = get(record, name, MISSING)
            if found is not MISSING:
                return found
            own = singular_table(self.asked.table.name).replace(" ", "_")
            ends = ("id", "key", "number", "name", "slug")
            if word in {f"{own}_{end}" for end in ends} | {"key", "deleted_id", "id"}:
                return get(record, self.asked.table.key[-1]) if self.asked.table.key else MISSING
        if path.count(".") > 0 or "[" in path:
            return MISSING
        return self._of_answer(name, word, kinds)

    def _of_answer(self, name: str, word: str, kinds: set[str]) -> Any:
        if name == (self.asked.operation.output.cursor or "").rpartition(".")[2]:
            # The last page has none; the one that fetched it would fetch it again.
            return "" if "string" in kinds else MISSING
        if "boolean" in kinds and word in SUCCESSES:
            return True
        if kinds & {"integer", "number"} and word in COUNTS | TOTALS:
            return len(self.outcome.records) if self.outcome.total is None else self.outcome.total
        return _message(self.asked, self.outcome) if word in MESSAGES else MISSING

    def _record(self, path: str) -> Mapping[str, Any] | None:
        """The record that a place in the answer is of."""
        if path.startswith("[") or "[" in path:
            place = path.rpartition("[")[2].partition("]")[0]
            inside = path.rpartition("]")[2].count(".") > 1
            number = int(place) if place.isdigit() else -1
            if inside or not 0 <= number < len(self.outcome.records):
                return None
            return self.outcome.records[number]
        listed = self.outcome.several or self.asked.operation.does in ("list", "search")
        # What stands beside a list says something of the call, however many were found.
        return self.outcome.records[0] if len(self.outcome.records) == 1 and not listed else None
