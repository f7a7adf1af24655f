"""The second way to an answer: loops over rows, which know nothing of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_sim.fiction.query_plan import Aggregate, FieldPath, QueryPlan
from agentworld_sim.fiction.schema import FictionSchema, Row


def recount(
    schema: FictionSchema, rows: Mapping[str, Sequence[Row]], plan: QueryPlan
) -> list[tuple[Any, ...]] | None:
    """The answer to a plan: the title of each row and its values, in the order of the table.

    None where a ranking has no single first row.
    """
    kept: list[Row] = []
    for row in rows[plan.table]:
        passes = True
        for one in plan.filters:
            value = _value(schema, rows, plan.table, row, one.field)
            if value is None:
                passes = False
            elif one.comparison == "equal":
                passes = passes and value == one.value
            elif one.comparison == "at_least":
                passes = passes and not value < one.value
            else:
                passes = passes and not value > one.value
        if passes:
            kept.append(row)
    if plan.rank:
        ranked = [(_value(schema, rows, plan.table, row, plan.rank.by), row) for row in kept]
        if not ranked or any(value is None for value, _ in ranked):
            return None
        values = [value for value, _ in ranked]
        first = max(values) if plan.rank.highest else min(values)
        if values.count(first) != 1:
            return None
        kept = [row for value, row in ranked if value == first]
    title = schema.table(plan.table).title
    return [
        (row[title], *(_value(schema, rows, plan.table, row, what) for what in plan.values)) for row in kept
    ]


def _value(
    schema: FictionSchema, rows: Mapping[str, Sequence[Row]], table: str, row: Row, what: FieldPath | Aggregate
) -> Any:
    if isinstance(what, FieldPath):
        found: Row | None = row
        for step in what.steps:
            if found is None or found[step] is None:
                return None
            table, wanted = schema.table(table).column(step).references, found[step]
            key = schema.table(table).key
            found = None
            for other in rows[table]:
                if other[key] == wanted:
                    found = other
        return None if found is None else found[what.column]
    count, values = 0, list[Any]()
    for other in rows[what.table]:
        if other[what.via] == row[schema.table(table).key]:
            count += 1
            if what.column and other[what.column] is not None:
                values.append(other[what.column])
    if what.function == "count":
        return count
    if not values:
        return None
    return {"sum": sum, "max": max, "min": min}[what.function](values)
