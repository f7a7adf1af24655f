"""Plans of questions, drawn from what a schema's columns refer to and can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from random import Random

from agentworld_sim.fiction.fiction_schema import FictionSchema, Table
from agentworld_sim.fiction.query_plan import (
    OPERATORS,
    Aggregate,
    Comparison,
    FieldPath,
    Filter,
    QueryPlan,
    Rank,
    Rows,
    column_of,
    columns_on,
    is_title,
    table_at,
)
from agentworld_sim.fiction.recount import value_of

HOPS = 2
"""References that a fact is away at most."""

_SHAPES = {"list": 6, "aggregate": 2, "rank": 2}


class PlanDraws:
    """Draws plans about one world's rows; not all of them make a question."""

    def __init__(self, schema: FictionSchema, rows: Rows, chance: Random) -> None:
        self._schema = schema
        self._rows = rows
        self._chance = chance
        self._tables = [one for one in schema.tables if one.title and len(rows[one.name]) > 1]
        self._fields = {one.name: list(self._fields_of(one)) for one in self._tables}
        self._aggregates = {one.name: list(self._aggregates_of(one)) for one in self._tables}

    def __iter__(self) -> Iterator[QueryPlan]:
        weights = [len(self._fields[one.name]) for one in self._tables]
        while any(weights):
            table = self._chance.choices(self._tables, weights)[0]
            yield self._plan(table, self._fields[table.name])

    def _plan(self, table: Table, fields: Sequence[FieldPath]) -> QueryPlan:
        chance, aggregates = self._chance, self._aggregates[table.name]
        shape = chance.choices([*_SHAPES], [*_SHAPES.values()])[0]
        filters = self._filters(table, fields, chance.choice((1, 1, 2, 2, 3)))
        # What is filtered to one value is no question.
        fixed = {one.field for one in filters if one.comparison == "equal"}
        # A filter on what it refers to keeps the rows that refer to something.
        leads = {one.field.steps[0] for one in filters if one.field.steps}
        free = [
            one for one in fields if one not in fixed and self._can_be_asked(table.name, one, leads)
        ]
        values = tuple(chance.sample(free, min(len(free), chance.choice((1, 2, 2, 3)))))
        plan = QueryPlan(table=table.name, values=values, filters=filters)
        if shape == "aggregate" and aggregates:
            return replace(plan, values=(*values[:2], chance.choice(aggregates)))
        if shape == "rank":
            types = ("integer", "number", "date")
            by = [one for one in free if column_of(self._schema, table.name, one).type in types]
            ways = [*by, *(one for one in aggregates if one.function == "count")]
            if ways:
                return replace(plan, rank=Rank(chance.choice(ways), chance.random() < 0.6))
        return plan

    def _can_be_asked(self, table: str, field: FieldPath, leads: AbstractSet[str]) -> bool:
        """Whether a field can be a value: yes and no say in no text what they mean, so that nothing could keep them
        out of a result; and where cells may be empty, some of an answer's seldom are not."""
        column = column_of(self._schema, table, field)
        way = columns_on(self._schema, table, field.steps)
        way = [one for one in way if one.name not in leads]
        return column.type != "boolean" and not any(one.nullable for one in (column, *way))

    def _filters(self, table: Table, fields: Sequence[FieldPath], count: int) -> tuple[Filter, ...]:
        """Filters that one row passes, drawn by the seed, so that the answer is seldom empty."""
        row = self._chance.choice(self._rows[table.name])
        able = [one for one in fields if self._can_filter(table.name, one)]
        found: list[Filter] = []
        for field in self._chance.sample(able, min(count, len(able))):
            value = value_of(self._schema, self._rows, table.name, row, field)
            if value is not None:
                asks = asks_of(self._schema, table.name, field)
                ways: list[Comparison] = [one for one in OPERATORS if one in asks]
                found.append(Filter(field, self._chance.choice(ways), value))
        return tuple(found)

    def _can_filter(self, table: str, field: FieldPath) -> bool:
        """Whether words can say a filter on a field, and the way to it."""
        asks = asks_of(self._schema, table, field)
        way = columns_on(self._schema, table, field.steps)
        return bool(asks.keys() & OPERATORS.keys()) and all("equal" in one.asks for one in way)

    def _fields_of(self, table: Table, steps: tuple[str, ...] = ()) -> Iterator[FieldPath]:
        there = table_at(self._schema, table.name, steps)
        for column in there.columns:
            if column.references:
                beyond = self._schema.table(column.references)
                if len(steps) < HOPS and beyond.title:
                    yield FieldPath((*steps, column.name), beyond.title)
                    yield from self._fields_of(table, (*steps, column.name))
            elif column.name != there.title:
                yield FieldPath(steps, column.name)

    def _aggregates_of(self, table: Table) -> Iterator[Aggregate]:
        for other in self._schema.tables:
            for via in other.columns:
                if via.references != table.name:
                    continue
                yield Aggregate(other.name, via.name, "count")
                for column in other.columns:
                    if column.type in ("integer", "number", "date") and not column.references:
                        yield Aggregate(other.name, via.name, "max", column.name)
                        yield Aggregate(other.name, via.name, "min", column.name)


def asks_of(schema: FictionSchema, table: str, field: FieldPath) -> Mapping[str, str]:
    """How a filter on a field is said: what a thing is called is asked for by the column that refers to it."""
    if field.steps and is_title(schema, table, field):
        return columns_on(schema, table, field.steps)[-1].asks
    return column_of(schema, table, field).asks
