"""A question in words, written backwards from its plan."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from agentworld_sim.extras import require
from agentworld_sim.fiction.answer_scores import CellMetric
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema
from agentworld_sim.fiction.plan_draws import asks_of
from agentworld_sim.fiction.query_plan import (
    Aggregate,
    FieldPath,
    Filter,
    QueryPlan,
    Rank,
    column_of,
    columns_on,
    is_title,
)

_LISTS = (
    "Find every {noun} {filters}.",
    "I need a complete list: each {noun} {filters}.",
    "Name every {noun} {filters}.",
    "Search for each {noun} {filters}; leave none out.",
)
_RANKS = (
    "Take every {noun} {filters}: find the one with {rank}.",
    "Of all {nouns}, consider each one {filters}. Which one has {rank}?",
)
_RANKS_OF_ALL = ("Find the {noun} with {rank}.", "Which {noun} has {rank}?")
_TABLES = (
    "Answer with one Markdown table with the columns {columns}, a row for each {noun}.",
    "Give the answer as one Markdown table. Its columns are {columns}; each row is one {noun}.",
)
_WORDS = {"count": "number", "max": "highest", "min": "lowest"}
_WORDS_OF_DATES = {"max": "latest", "min": "earliest"}


def question_text(schema: FictionSchema, plan: QueryPlan, chance: Random) -> str:
    """The question; `chance` picks the wording."""
    noun, nouns = schema.table(plan.table).noun
    filters = _both([_filter(schema, plan.table, one) for one in plan.filters])
    ways = _LISTS if not plan.rank else _RANKS if filters else _RANKS_OF_ALL
    says = chance.choice(ways).format(
        noun=noun,
        nouns=nouns,
        filters=filters,
        rank=_rank(schema, plan.table, plan.rank) if plan.rank else "",
    )
    table = chance.choice(_TABLES).format(noun=noun, columns=" | ".join(headers(schema, plan)))
    return " ".join([says, table, *_forms(schema, plan)])


def headers(schema: FictionSchema, plan: QueryPlan) -> tuple[str, ...]:
    """The columns of the answer: what a row is called, then its values."""
    noun = schema.table(plan.table).noun[0]
    return (noun[0].upper() + noun[1:], *(_header(schema, plan.table, one) for one in plan.values))


def metric_of(schema: FictionSchema, table: str, what: FieldPath | Aggregate) -> CellMetric:
    """How the values of a column are compared."""
    counts = isinstance(what, Aggregate) and not what.column
    type = "integer" if counts else _column(schema, table, what).type
    if type in ("integer", "number"):
        criterion = 0.01 if type == "number" else 0.0
        return CellMetric(metric="number_near", criterion=criterion, preprocess=("extract_number",))
    return CellMetric(preprocess=("norm_date" if type == "date" else "norm_str",))


def _column(schema: FictionSchema, table: str, what: FieldPath | Aggregate) -> Column:
    if isinstance(what, Aggregate):
        return schema.table(what.table).column(what.column)
    return column_of(schema, table, what)


def _header(schema: FictionSchema, table: str, what: FieldPath | Aggregate) -> str:
    if isinstance(what, FieldPath):
        steps, label = what.steps, column_of(schema, table, what).label
        if steps and is_title(schema, table, what):
            label, steps = columns_on(schema, table, steps)[-1].label, steps[:-1]
        return f"{label} ({_way(schema, table, steps)})" if steps else label
    there = schema.table(what.table)
    # A match names two clubs, and people supervise people: then it is said by which column.
    clear = there.name != table and sum(one.references == table for one in there.columns) == 1
    via = "" if clear else f" (as {_small(there.column(what.via).label)})"
    word = _WORDS[what.function].capitalize()
    if not what.column:
        return f"{word} of {there.noun[1]}{via}"
    column = there.column(what.column)
    if column.type == "date":
        word = _WORDS_OF_DATES[what.function].capitalize()
    return f"{word} {_small(column.label)} of its {there.noun[1]}{via}"


def _way(schema: FictionSchema, table: str, steps: Sequence[str]) -> str:
    """`maker`, `maker's country`."""
    return "'s ".join(_small(one.label) for one in columns_on(schema, table, steps))


def _small(label: str) -> str:
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def _filter(schema: FictionSchema, table: str, one: Filter) -> str:
    """`that is made by a maker that was founded in 1990`."""
    steps, column = one.field.steps, column_of(schema, table, one.field)
    if steps and is_title(schema, table, one.field):
        steps = steps[:-1]
    says = _phrase(
        asks_of(schema, table, one.field)[one.comparison], _value_text(column, one.value)
    )
    for way in reversed(columns_on(schema, table, steps)):
        a_noun = schema.table(way.references).a_noun
        says = _phrase(way.asks["equal"], f"{a_noun} that {says}")
    return f"that {says}"


def _rank(schema: FictionSchema, table: str, rank: Rank) -> str:
    """`the highest number of offers`, `the latest launch date`."""
    word = "max" if rank.highest else "min"
    dates = isinstance(rank.by, FieldPath) and _column(schema, table, rank.by).type == "date"
    words = _WORDS_OF_DATES if dates else _WORDS
    return f"the {words[word]} {_small(_header(schema, table, rank.by))}"


def _forms(schema: FictionSchema, plan: QueryPlan) -> list[str]:
    """How values are to be written."""
    columns = {
        _header(schema, plan.table, one): _column(schema, plan.table, one)
        for one in plan.values
        if not isinstance(one, Aggregate) or one.column
    }
    units = [f"{name} in {column.unit}" for name, column in columns.items() if column.unit]
    found = [f"Give {_both(units)}."] * bool(units)
    types = {column.type for column in columns.values()}
    found += ["Write dates as YYYY-MM-DD."] * ("date" in types)
    found += ["Write numbers as digits alone."] * bool({"integer", "number"} & types)
    return found


def _value_text(column: Column, value: Any) -> str:
    if column.type == "boolean":
        return value  # its phrase chooses by it
    # Years have no separators.
    return f"{value:,}" if isinstance(value, int | float) and abs(value) >= 10_000 else str(value)


def _both(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + "".join(parts[-1:])


def _phrase(text: str, value: Any) -> str:
    return _template(text).render(value=value)


@cache
def _template(text: str) -> Any:
    sandbox = require("jinja2.sandbox", extra="fiction")
    return sandbox.SandboxedEnvironment(autoescape=False).from_string(text)
