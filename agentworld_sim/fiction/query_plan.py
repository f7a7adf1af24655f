"""`QueryPlan`: what a question asks of a fictional world, as data; its SQL; and the facts that its answer rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agentworld_sim.engines.search.web_page import Cell
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Row, Table

Comparison = Literal["equal", "at_least", "at_most"]
OPERATORS: Mapping[Comparison, str] = {"equal": "=", "at_least": ">=", "at_most": "<="}
Rows = Mapping[str, Sequence[Row]]
"""By table, in the order of keys, which are the numbers from 1."""


@dataclass(frozen=True, slots=True)
class FieldPath:
    """A column of the row that a row of the plan's table leads to."""

    steps: tuple[str, ...]
    """Columns that refer to a row, from the plan's table on; empty for that row itself."""
    column: str


@dataclass(frozen=True, slots=True)
class Filter:
    field: FieldPath
    comparison: Comparison
    value: Any

    def passes(self, value: Any) -> bool:
        if value is None:
            return False
        if self.comparison == "equal":
            return value == self.value
        return value >= self.value if self.comparison == "at_least" else value <= self.value


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One number of all rows of another table that refer to a row."""

    table: str
    via: str
    """The column of `table` that refers to the row."""
    function: Literal["count", "max", "min"]
    column: str = ""
    """Of `table`; empty for `count`."""


@dataclass(frozen=True, slots=True)
class Rank:
    """Keeps the one row with the highest or lowest value."""

    by: FieldPath | Aggregate
    highest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """The rows of a table that pass all filters, each with its title and values."""

    table: str
    values: tuple[FieldPath | Aggregate, ...]
    filters: tuple[Filter, ...] = ()
    rank: Rank | None = None

    @property
    def used(self) -> tuple[FieldPath | Aggregate, ...]:
        """All that it reads, beside the titles."""
        rank = (self.rank.by,) if self.rank else ()
        return (*self.values, *(one.field for one in self.filters), *rank)

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        return tuple(one for one in self.used if isinstance(one, Aggregate))

    @property
    def hops(self) -> int:
        """The most references that one fact is away."""
        return max(1 if isinstance(one, Aggregate) else len(one.steps) for one in self.used)


def table_at(schema: FictionSchema, table: str, steps: Sequence[str]) -> Table:
    """The table that references lead to."""
    for step in steps:
        table = schema.table(table).column(step).references
    return schema.table(table)


def columns_on(schema: FictionSchema, table: str, steps: Sequence[str]) -> list[Column]:
    """The columns of references, each of the table that those before lead to."""
    return [table_at(schema, table, steps[:place]).column(step) for place, step in enumerate(steps)]


def column_of(schema: FictionSchema, table: str, path: FieldPath) -> Column:
    return table_at(schema, table, path.steps).column(path.column)


def is_title(schema: FictionSchema, table: str, path: FieldPath) -> bool:
    return table_at(schema, table, path.steps).title == path.column


def sql_of(schema: FictionSchema, plan: QueryPlan) -> str:
    """The query whose rows are the answer: the title, then the values, in the order of keys."""
    base = schema.table(plan.table)
    names: dict[tuple[str, ...], str] = {(): "t"}
    joins: list[str] = []

    def text(what: FieldPath | Aggregate) -> str:
        if isinstance(what, Aggregate):
            inner = "*" if what.function == "count" else f'c."{what.column}"'
            return f'(select {what.function}({inner}) from "{what.table}" c where c."{what.via}" = t."{base.key}")'
        for end in range(1, len(what.steps) + 1):
            steps = what.steps[:end]
            if steps not in names:
                there, name = table_at(schema, plan.table, steps), f"t{len(names)}"
                joins.append(
                    f'left join "{there.name}" {name} on {name}."{there.key}" = {names[steps[:-1]]}."{steps[-1]}"'
                )
                names[steps] = name
        return f'{names[what.steps]}."{what.column}"'

    columns = ", ".join([f't."{base.title}"', *map(text, plan.values)])
    where = " and ".join(
        f"{text(one.field)} {OPERATORS[one.comparison]} {_literal(one.value)}"
        for one in plan.filters
    )
    order = f't."{base.key}"'
    if plan.rank:
        order = f"{text(plan.rank.by)} {'desc' if plan.rank.highest else 'asc'} limit 1"
    parts = [
        f'select {columns} from "{plan.table}" t',
        *joins,
        where and f"where {where}",
        f"order by {order}",
    ]
    return " ".join(filter(None, parts))


def _literal(value: Any) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(value)


def cells_behind(
    schema: FictionSchema, rows: Rows, table: str, row: Row, what: FieldPath | Aggregate
) -> Iterator[Cell]:
    """The facts that one value of a row follows from, in the order in which a reader meets them."""
    here = schema.table(table)
    if isinstance(what, Aggregate):
        key = schema.table(what.table).key
        for child in rows[what.table]:
            if child[what.via] == row[here.key]:
                yield Cell(what.table, child[key], what.via)
                if what.column:
                    yield Cell(what.table, child[key], what.column)
        return
    for step in what.steps:
        yield Cell(here.name, row[here.key], step)
        if row[step] is None:
            return
        here = schema.table(here.column(step).references)
        row = rows[here.name][int(row[step]) - 1]
    # What a thing is called is said where it is referred to.
    if here.title != what.column or not what.steps:
        yield Cell(here.name, row[here.key], what.column)
