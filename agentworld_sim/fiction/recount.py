"""The second way to an answer: loops over rows, which know nothing of SQL."""

from __future__ import annotations

from typing import Any

from agentworld_sim.fiction.fiction_schema import FictionSchema, Row
from agentworld_sim.fiction.query_plan import Aggregate, FieldPath, QueryPlan, Rows


def recount(schema: FictionSchema, rows: Rows, plan: QueryPlan) -> list[tuple[Any, ...]] | None:
    """The answer to a plan: the title of each row and its values, in the order of the table.

    None where a ranking has no single first row.
    """
    table = schema.table(plan.table)
    numbers = {what: _numbers(rows, what) for what in plan.aggregates}

    def value(row: Row, what: FieldPath | Aggregate) -> Any:
        if isinstance(what, FieldPath):
            return value_of(schema, rows, plan.table, row, what)
        return numbers[what].get(row[table.key], 0 if what.function == "count" else None)

    kept = [
        row
        for row in rows[plan.table]
        if all(one.passes(value(row, one.field)) for one in plan.filters)
    ]
    if plan.rank:
        values = [value(row, plan.rank.by) for row in kept]
        if not values or None in values:
            return None
        first = max(values) if plan.rank.highest else min(values)
        if values.count(first) > 1:
            return None
        kept = [kept[values.index(first)]]
    return [(row[table.title], *(value(row, what) for what in plan.values)) for row in kept]


def value_of(schema: FictionSchema, rows: Rows, table: str, row: Row, field: FieldPath) -> Any:
    """A value that a row of `table` leads to; None where there is none."""
    for step in field.steps:
        if row[step] is None:
            return None
        table = schema.table(table).column(step).references
        row = rows[table][int(row[step]) - 1]
    return row[field.column]


def _numbers(rows: Rows, what: Aggregate) -> dict[Any, Any]:
    """By key of the row that others refer to."""
    found: dict[Any, list[Any]] = {}
    for row in rows[what.table]:
        key, one = row[what.via], 1 if what.function == "count" else row[what.column]
        if one is None:
            continue
        found.setdefault(key, []).append(one)
    function = {"count": sum, "max": max, "min": min}[what.function]
    return {key: function(values) for key, values in found.items()}
