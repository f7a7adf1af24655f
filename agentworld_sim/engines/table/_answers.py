"""Answers in the form that the tool promises."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentworld_sim.engines.table import _times
from agentworld_sim.engines.table._asked import Asked, NotComputed
from agentworld_sim.engines.table._errors import named, singular
from agentworld_sim.engines.table._execution import Outcome
from agentworld_sim.engines.table._fitting import Fitting
from agentworld_sim.engines.table._generate import Maker
from agentworld_sim.engines.table._paths import MISSING, get, put
from agentworld_sim.engines.table.json_schemas import (
    Schema,
    alternative_types,
    at,
    properties_of,
    shape,
    unsaid_result,
)
from agentworld_sim.engines.table.operation import Output
from agentworld_sim.errors import UsageError
from agentworld_sim.schema.validate import schema_problem
from agentworld_sim.types.turns import Observation

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
_WENT_WELL = frozenset("success ok succeeded successful done valid exists acknowledged".split())
_COUNTS = frozenset("count total total_count size n number_of_results num_results length".split())
_MESSAGES = frozenset("message detail details msg confirmation info note text result".split())
_STATES = frozenset(("status", "outcome"))


@dataclass(frozen=True, slots=True)
class Further:
    """Records of other tables that an answer shows as well."""

    path: str
    records: Sequence[Mapping[str, Any]]


def observation(
    asked: Asked, outcome: Outcome, maker: Maker, further: Sequence[Further] = ()
) -> Observation:
    """What the agent sees.

    Args:
        asked: The call.
        outcome: What was computed.
        maker: Fills in what the output schema demands and no record says.
        further: Records of other tables.

    Raises:
        NotComputed: no answer with these records fits the output schema.
    """
    schema = asked.tool.output_schema
    unsaid = _unsaid(asked, schema)
    value = _placed(asked, outcome, None if unsaid else schema, further)
    if schema is None:
        return Observation(text=text_of(value))
    if unsaid:
        value = {unsaid: value if _holds(schema, unsaid, value) else text_of(value)}
    wanted = asked.operation.output.schema or schema
    known = _Known(asked, outcome)
    value = Fitting(maker, (schema, wanted), known.value).fitted(value, schema)
    problem = _problem(schema, value)
    if problem is not None:
        strict = Fitting(maker, (schema, wanted), known.value, strict=True).fitted(value, schema)
        if _problem(schema, strict) is not None:
            raise NotComputed(f"no answer fits its output schema: {problem}")
        value = strict
    if isinstance(value, dict) and (schema.get(_WRAPS) or _is_wrapped(schema)):
        return Observation(text=text_of(cast("dict[str, Any]", value)["result"]), structured=value)
    return Observation(text=text_of(value), structured=value)


def _unsaid(asked: Asked, schema: Schema | None) -> str | None:
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


def _placed(
    asked: Asked, outcome: Outcome, schema: Schema | None, further: Sequence[Further]
) -> Any:
    """What was computed at the places where the answer carries it."""
    output = asked.operation.output
    does = asked.operation.does
    around = _around(asked, outcome, further)
    if does == "count":
        counted: dict[str, Any] = {}
        for place, value in around.items():
            put(counted, place, value)
        return _numbers(asked, outcome, counted, schema) or outcome.total
    items: list[Any] = [_shown(asked, record) for record in outcome.records]
    if output.values:
        items = [get(record, output.values) for record in outcome.records]
    listed = outcome.several or does in ("list", "search")
    content: Any = items
    if not listed:
        content = items[0] if items else None
    path = output.records if listed else output.record
    if listed and not path and schema is not None:
        path = _first_list(schema)
    root: dict[str, Any] = {}
    if not path and not listed and isinstance(content, dict):
        root.update(cast("dict[str, Any]", content))
    elif not path and not around and not _counts(output):
        return content
    else:
        put(root, path or ("items" if listed else singular(asked.table.name)), content)
    for place, value in around.items():
        put(root, place, value)
    return _numbers(asked, outcome, root, schema)


def _around(asked: Asked, outcome: Outcome, further: Sequence[Further]) -> dict[str, Any]:
    """What stands beside the records, by its path."""
    output, given = asked.operation.output, asked.given
    around = {**output.fixed, **{one.path: list(one.records) for one in further}}
    around |= {place: given[name] for place, name in output.arguments.items() if name in given}
    if output.message is not None:
        around[output.message] = _message(asked, outcome)
    return around


def _numbers(
    asked: Asked, outcome: Outcome, root: dict[str, Any], schema: Schema | None
) -> dict[str, Any]:
    """`root` with counts and what fetches the next page."""
    output = asked.operation.output
    counting = asked.operation.does == "count"
    if output.total is not None:
        put(root, output.total, len(outcome.records) if outcome.total is None else outcome.total)
    if output.count is not None:
        put(root, output.count, outcome.total if counting else len(outcome.records))
    if counting and output.total is None and output.count is None and schema is not None:
        path = _first_number(schema)
        if path:
            put(root, path, outcome.total)
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


def _shown(asked: Asked, record: Mapping[str, Any]) -> dict[str, Any]:
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


def _first_list(schema: Schema) -> str:
    """The first property that is a list, of an answer that is an object."""
    own = at(schema, "", (schema,))
    if "array" in alternative_types(own, (schema,)):
        return ""
    for name, inner in properties_of(own, (schema,)).items():
        if "array" in alternative_types(inner, (schema,)):
            return name
    return ""


def _first_number(schema: Schema) -> str:
    for name, inner in properties_of(at(schema, "", (schema,)), (schema,)).items():
        if {"integer", "number"} & alternative_types(inner, (schema,)):
            return name
    return ""


def _message(asked: Asked, outcome: Outcome) -> str:
    """What was done, for people."""
    table, done = asked.table, _DONE[asked.operation.does]
    if len(outcome.records) == 1 and not outcome.several:
        key = [get(outcome.records[0], path) for path in table.key]
        return f"{named(table.name, key)} {done}"
    count = len(outcome.records) if outcome.total is None else outcome.total
    what = singular(table.name) if count == 1 else table.name.rpartition("__")[2].replace("_", " ")
    return f"{count} {what} {done}"


@dataclass(frozen=True, slots=True)
class _Known:
    """What an answer's own fields mean."""

    asked: Asked
    outcome: Outcome

    def value(self, name: str, kinds: set[str], path: str) -> Any:
        """The value of a field that the schema demands and the computed content does not have.

        Args:
            name: The field.
            kinds: The types it may have.
            path: Where it stands, with the places in lists.
        """
        record = self._record(path)
        word = _times.snake(name)
        if record is not None:
            found = get(record, name, MISSING)
            if found is not MISSING:
                return found
            own = singular(self.asked.table.name).replace(" ", "_")
            ends = ("id", "key", "number", "name", "slug")
            if word in {f"{own}_{end}" for end in ends} | {"key", "deleted_id", "id"}:
                return get(record, self.asked.table.key[-1]) if self.asked.table.key else MISSING
        if path.count(".") > 0 or "[" in path:
            return MISSING
        return self._of_answer(name, word, kinds)

    def _of_answer(self, name: str, word: str, kinds: set[str]) -> Any:
        outcome = self.outcome
        if name == (self.asked.operation.output.cursor or "").rpartition(".")[2]:
            # The last page has none; the one that fetched it would fetch it again.
            return "" if "string" in kinds else MISSING
        if name in self.asked.given:
            return self.asked.given[name]
        done = _DONE[self.asked.operation.does]
        if "boolean" in kinds:
            if word in _WENT_WELL or word in (done, "removed", "added", "changed"):
                return True
            if word in ("has_more", "more", "has_next", "has_next_page", "truncated"):
                return outcome.more
        if kinds & {"integer", "number"} and (word in _COUNTS or word.endswith("_count")):
            return len(outcome.records) if outcome.total is None else outcome.total
        if "string" in kinds:
            if word in _MESSAGES:
                return _message(self.asked, outcome)
            if word in _STATES:
                return done if self.asked.operation.does in ("create", "delete") else "success"
        return MISSING

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
