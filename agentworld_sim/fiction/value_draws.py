"""Values of columns, drawn as their `make` says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cache, lru_cache
from itertools import accumulate
from math import exp, log
from random import Random
from typing import Any, assert_never

from agentworld_sim.extras import require
from agentworld_sim.fiction.makes import (
    After,
    Between,
    Form,
    Make,
    Name,
    OneOf,
    Pattern,
    Pick,
    Sql,
    Times,
)
from agentworld_sim.fiction.schema import Column, FictionSchema, Table

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"

DraftRow = dict[str, Any]


class ValueDraws:
    """Draws for the tables of one world, whose rows it is given as they come about."""

    def __init__(
        self, seed: int, schema: FictionSchema, rows: Mapping[str, list[DraftRow]]
    ) -> None:
        self._seed, self._schema = seed, schema
        self._rows = rows
        self._orders: dict[tuple[str, str], Sequence[int]] = {}
        self._groups: dict[tuple[str, str], dict[tuple[Any, ...], list[int]]] = {}

    def draw(
        self, table: Table, column: Column, rows: Sequence[DraftRow], seed: str
    ) -> list[Any]:
        """A value for each of the rows, in which the columns before have theirs. The same seed gives the same."""
        make, chance = column.make, Random(seed)
        values = self._values(table, column, make, rows, chance)
        if make and make.null:
            return [None if chance.random() < make.null else value for value in values]
        return values

    def forget(self) -> None:
        """Rows that were there have changed."""
        self._groups.clear()

    def _values(
        self, table: Table, column: Column, make: Make | None, rows: Sequence[DraftRow], chance: Random
    ) -> list[Any]:
        match make:
            case Between():
                return self._between(table, column, make, rows, chance)
            case After():
                low, high = make.by
                cell, path = self._cell(column, make.step), self._path(table, make.after)
                return [
                    None if start is None else cell(start + low + chance.random() * (high - low))
                    for start in map(path, rows)
                ]
            case Times():
                low, high = make.by
                cell, path = self._cell(column, make.step), self._path(table, make.times)
                return [
                    None if start is None else cell(start * (low + chance.random() * (high - low)))
                    for start in map(path, rows)
                ]
            case OneOf():
                weights = make.one_of if isinstance(make.one_of, Mapping) else None
                cumulative = list(accumulate(weights.values())) if weights else None
                return chance.choices(tuple(make.one_of), cum_weights=cumulative, k=len(rows))
            case Pattern():
                return ["".join(_sign(one, chance) for one in make.pattern) for _ in rows]
            case Form():
                form = _form(make.form)
                form.random = chance
                return [_FORMS[make.form][1](form) for _ in rows]
            case Pick():
                return self._pick(table, column, make, rows, chance)
            case Name() | Sql() | None:
                return [None] * len(rows)
            case _:
                assert_never(make)

    def _between(
        self, table: Table, column: Column, make: Between, rows: Sequence[DraftRow], chance: Random
    ) -> list[Any]:
        cell = self._cell(column, make.step)
        # One more step, of which a whole number takes its part.
        more = make.step if column.type != "number" else 0
        bounds = [self._bound(table, one) for one in make.between]
        values: list[Any] = []
        for row in rows:
            low, high = (one(row) if callable(one) else one for one in bounds)
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

    def _pick(
        self, table: Table, column: Column, make: Pick, rows: Sequence[DraftRow], chance: Random
    ) -> list[Any]:
        order = self._order(table, column)
        likes = [self._path(table, path) for path in make.like.values()]
        groups = self._group(table, column, tuple(make.like)) if likes else {}
        values: list[Any] = []
        for row in rows:
            among: Sequence[int] = order
            if column.references == table.name:
                among = range(1, row[table.key])
            if likes:
                found = groups.get(tuple(like(row) for like in likes), [])
                among = [one for one in found if one in among] if among is not order else found
            avoided = row[make.other_than] if make.other_than else None
            if avoided is not None and avoided in among:
                among = [one for one in among if one != avoided]
            values.append(among[_place(make.pick, len(among), row[table.key], chance)] if among else None)
        return values

    def _order(self, table: Table, column: Column) -> Sequence[int]:
        """The keys that a column may have; the first ones are picked most often."""
        place = (table.name, column.name)
        if place not in self._orders:
            keys = range(1, len(self._rows[column.references]) + 1)
            self._orders[place] = Random(f"{self._seed}/{self._schema.name}/{place}").sample(keys, len(keys))
        return self._orders[place]

    def _group(
        self, table: Table, column: Column, columns: tuple[str, ...]
    ) -> dict[tuple[Any, ...], list[int]]:
        place = (table.name, column.name)
        if place not in self._groups:
            groups = self._groups[place] = {}
            rows = self._rows[column.references]
            for key in self._order(table, column):
                groups.setdefault(tuple(rows[key - 1][one] for one in columns), []).append(key)
        return self._groups[place]

    def _bound(self, table: Table, bound: float | str) -> Any:
        if not isinstance(bound, str):
            return bound
        if bound[:1].isdigit():
            return date.fromisoformat(bound).toordinal()
        return self._path(table, bound)

    def _path(self, table: Table, path: str) -> Callable[[DraftRow], Any]:
        """What gives the value at a path; a date as the number of its day."""
        if path == "today":
            today = date.fromisoformat(self._schema.today).toordinal()
            return lambda _row: today
        *references, last = path.split(".")
        steps: list[tuple[str, list[DraftRow]]] = []
        for name in references:
            table = self._schema.table(table.column(name).references)
            steps.append((name, self._rows[table.name]))
        is_date = last != table.key and table.column(last).type == "date"

        def value(row: DraftRow) -> Any:
            for name, rows in steps:
                if row[name] is None:
                    return None
                row = rows[row[name] - 1]
            found = row[last]
            return _day(found) if is_date and found is not None else found

        return value

    @staticmethod
    def _cell(column: Column, step: float) -> Callable[[float], Any]:
        if column.type == "date":
            return lambda value: date.fromordinal(int(value)).isoformat()
        if column.type == "number":
            return lambda value: round(round(value / step) * step, 6)
        whole = int(step)
        return lambda value: int(value // whole) * whole


_day = lru_cache(4096)(lambda text: date.fromisoformat(text).toordinal())


def _place(spread: str, count: int, key: int, chance: Random) -> int:
    if spread == "in_turn":
        return (key - 1) % count
    if spread == "zipf":
        # The nth is taken about 1/n as often as the first.
        return int((count + 1) ** chance.random()) - 1
    return int(chance.random() * count)


def _sign(sign: str, chance: Random) -> str:
    if sign == "@":
        return LETTERS[int(chance.random() * len(LETTERS))]
    return str(int(chance.random() * 10)) if sign == "#" else sign


_FORMS: dict[str, tuple[tuple[str, ...], Callable[[Any], str]]] = {
    "mail": (("internet", "person", "lorem"), lambda form: form.ascii_safe_email()),
    "phone": (("phone_number",), lambda form: form.basic_phone_number()),
    "street": (("address", "person"), lambda form: form.street_address()),
}
"""Faker's providers for a form, of which its factory would load all there are, and its method."""


@cache
def _form(name: str) -> Any:
    form = require("faker", extra="fiction").Generator()
    for provider in _FORMS[name][0]:
        module = require(f"faker.providers.{provider}.en_US", extra="fiction")
        form.add_provider(module.Provider)
    return form
