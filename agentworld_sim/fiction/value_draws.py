"""Values of columns, drawn as their `make` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import accumulate
from math import exp, log
from operator import add, mul
from random import Random
from typing import Any, assert_never

from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Table
from agentworld_sim.fiction.makes import (
    After,
    Between,
    Name,
    OneOf,
    Pattern,
    Pick,
    Sql,
    Times,
)

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"

DraftRow = dict[str, Any]

Drawer = Callable[[Sequence[DraftRow], Random], list[Any]]
"""Gives a value for each of the rows, in which the columns before have theirs."""


class ValueDraws:
    """Draws for the tables of one world, whose rows it is given as they come about."""

    def __init__(
        self, seed: int, schema: FictionSchema, rows: Mapping[str, list[DraftRow]]
    ) -> None:
        self._seed, self._schema = seed, schema
        self._rows = rows
        self._drawers: dict[tuple[str, str], Drawer] = {}

    def draw(
        self, table: Table, column: Column, rows: Sequence[DraftRow], chance: Random
    ) -> list[Any]:
        """A value for each of the rows, in which the columns before have theirs."""
        place = (table.name, column.name)
        if place not in self._drawers:
            self._drawers[place] = self._drawer(table, column)
        values = self._drawers[place](rows, chance)
        if column.make and (null := column.make.null):
            return [None if chance.random() < null else value for value in values]
        return values

    def forget(self) -> None:
        """Rows that were there have changed."""
        self._drawers.clear()

    def _drawer(self, table: Table, column: Column) -> Drawer:
        make = column.make
        match make:
            case Between():
                return self._between(table, column, make)
            case After():
                return self._change(table, column, make, make.after, add)
            case Times():
                return self._change(table, column, make, make.times, mul)
            case OneOf():
                weights = make.one_of if isinstance(make.one_of, Mapping) else None
                cumulative = list(accumulate(weights.values())) if weights else None
                values: list[Any] = list(make.one_of)
                if column.type in ("integer", "boolean", "number"):
                    values = [float(one) if column.type == "number" else int(one) for one in values]
                return lambda rows, chance: chance.choices(
                    values, cum_weights=cumulative, k=len(rows)
                )
            case Pattern():
                return lambda rows, chance: [
                    "".join(_sign(one, chance) for one in make.pattern) for _ in rows
                ]
            case Pick():
                return self._pick(table, column, make)
            case Name() | Sql() | None:
                return lambda rows, _chance: [None] * len(rows)
            case _:
                assert_never(make)

    def _between(self, table: Table, column: Column, make: Between) -> Drawer:
        cell = _cell(column, make.step)
        # One more step, of which a whole number takes its part.
        more = make.step if column.type != "number" else 0
        lowest, highest = (self._bound(table, one) for one in make.between)

        def draw(rows: Sequence[DraftRow], chance: Random) -> list[Any]:
            values: list[Any] = []
            for row in rows:
                low, high = lowest(row), highest(row)
                if low is None or high is None or low > high:
                    values.append(None)
                    continue
                part = chance.random()
                if make.shape == "log":
                    value = exp(log(low) + part * (log(high + more) - log(low)))
                else:
                    if make.shape == "bell":
                        part = (part + chance.random() + chance.random()) / 3
                    value = low + part * (high + more - low)
                values.append(cell(value))
            return values

        return draw

    def _change(
        self,
        table: Table,
        column: Column,
        make: After | Times,
        path: str,
        change: Callable[[float, float], float],
    ) -> Drawer:
        cell, start, (low, high) = _cell(column, make.step), self._path(table, path), make.by
        return lambda rows, chance: [
            None if value is None else cell(change(value, low + chance.random() * (high - low)))
            for value in map(start, rows)
        ]

    def _pick(self, table: Table, column: Column, make: Pick) -> Drawer:
        order = self._order(table, column)
        likes = [self._path(table, path) for path in make.like.values()]
        groups = self._group(column, order, tuple(make.like))
        other = self._path(table, make.other_than) if make.other_than else None

        def draw(rows: Sequence[DraftRow], chance: Random) -> list[Any]:
            values: list[Any] = []
            for row in rows:
                key = row[table.key]
                among = groups.get(tuple(like(row) for like in likes), ()) if likes else order
                if column.references == table.name:
                    among = [one for one in among if one < key] if likes else range(1, key)
                value = _one_of(among, make.pick, key, chance)
                if other and value is not None and value == (avoided := other(row)):
                    value = _one_of(
                        [one for one in among if one != avoided], make.pick, key, chance
                    )
                values.append(value)
            return values

        return draw

    def _order(self, table: Table, column: Column) -> Sequence[int]:
        """The keys that a column may have; the first ones are picked most often."""
        keys = range(1, len(self._rows[column.references]) + 1)
        seed = f"{self._seed}/{self._schema.name}/{table.name}/{column.name}/order"
        return Random(seed).sample(keys, len(keys))

    def _group(
        self, column: Column, order: Sequence[int], columns: tuple[str, ...]
    ) -> Mapping[tuple[Any, ...], Sequence[int]]:
        groups: dict[tuple[Any, ...], list[int]] = {}
        rows = self._rows[column.references]
        for key in order if columns else ():
            groups.setdefault(tuple(rows[key - 1][one] for one in columns), []).append(key)
        return groups

    def _bound(self, table: Table, bound: float | str) -> Callable[[DraftRow], Any]:
        if isinstance(bound, str) and not bound[:1].isdigit():
            return self._path(table, bound)
        value = _day(bound) if isinstance(bound, str) else bound
        return lambda _row: value

    def _path(self, table: Table, path: str) -> Callable[[DraftRow], Any]:
        """What gives the value at a path; a date as the number of its day."""
        if path == "today":
            return self._bound(table, self._schema.today)
        *references, last = path.split(".")
        steps: list[tuple[str, list[DraftRow]]] = []
        for name in references:
            table = self._schema.table(table.column(name).references)
            steps.append((name, self._rows[table.name]))
        is_date = table.column(last).type == "date"

        def value(row: DraftRow) -> Any:
            for name, rows in steps:
                key: int | None = row[name]
                if key is None:
                    return None
                row = rows[key - 1]
            found = row[last]
            return _day(found) if is_date and found is not None else found

        return value


def _cell(column: Column, step: float) -> Callable[[float], Any]:
    if column.type == "date":
        return lambda value: date.fromordinal(int(value)).isoformat()
    if column.type == "number":
        return lambda value: round(round(value / step) * step, 6)
    whole = int(step)
    return lambda value: int(value // whole) * whole


@lru_cache(4096)
def _day(text: str) -> int:
    return date.fromisoformat(text).toordinal()


def _one_of(among: Sequence[int], spread: str, key: int, chance: Random) -> int | None:
    if not among:
        return None
    if spread == "in_turn":
        return among[(key - 1) % len(among)]
    if spread == "zipf":
        # The nth is taken about 1/n as often as the first.
        return among[int((len(among) + 1) ** chance.random()) - 1]
    return among[int(chance.random() * len(among))]


def _sign(sign: str, chance: Random) -> str:
    if sign == "@":
        return LETTERS[int(chance.random() * len(LETTERS))]
    return str(int(chance.random() * 10)) if sign == "#" else sign
