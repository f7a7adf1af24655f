"""The second way to an answer: loops over rows, which know nothing of SQL."""

from __future__ import annotations

from typing import Any

from agentworld_sim.fiction.fiction_schema import FictionSchema, Row
from agentworld_sim.fiction.query_plan import Aggregate, FieldPath, QueryPlan, Rows


def recount(schema: FictionSchema, rows: Rows, plan: QueryPlan) -> list[tuple[Any, ...]] | None:
    """The answer to a plan: the title of each row and its values, in the order of the table.

    None where a ranking has no single first row.
    """
    kept = [
        row
        for row in rows[plan.table]
        if all(
            one.passes(value_of(schema, rows, plan.table, row, one.field)) for one in plan.filters
        )
    ]
    if plan.rank:
        values = [value_of(schema, rows, plan.table, row, plan.rank.by) for row in kept]
        if not values or None in values:
            return None
        first = max(values) if plan.rank.highest else min(values)
        if values.count(first) > 1:
            return None
        kept = [kept[values.index(first)]]
    title = schema.table(plan.table).title
    return [
        (row[title], *(value_of(schema, rows, plan.table, row, what) for what in plan.values))
        for row in kept
    ]


def value_of(
    schema: FictionSchema, rows: Rows, table: str, row: Row, what: FieldPath | Aggregate
) -> Any:
    """A value of a row of `table`; None where there is none."""
    if isinstance(what, FieldPath):
        for step in what.steps:
            there = schema.table(schema.table(table).column(step).references)
            found = [other for other in rows[there.name] if other[there.key] == row[step]]
            if not found:
                return None
            table, row = there.name, found[0]
        return row[what.column]
    key = row[schema.table(table).key]
    children = [other for other in rows[what.table] if other[what.via] == key]
    if what.function == "count":
        return len(children)
    values = [one[what.column] for one in children if one[what.column] is not None]
    return {"max": max, "min": min}[what.function](values) if values else None
