"""A world's rows come about: drawn, held against the rules in SQL, and drawn again where they break one."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from random import Random

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Row, Rule, Table
from agentworld_sim.fiction.makes import Between, Name, Sql
from agentworld_sim.fiction.name_grammar import draw_names
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.value_draws import DraftRow, ValueDraws

DRAWS = 60
"""How often a row is drawn before the schema counts as one that cannot be satisfied."""

_SQL_TYPES = {
    "text": "text",
    "integer": "integer",
    "number": "real",
    "date": "text",
    "boolean": "integer",
}


def row_counts(schema: FictionSchema, rows: int) -> dict[str, int]:
    """How many rows each table has, or at most has, of `rows` in all."""
    shares = sum(table.share for table in schema.tables)
    return {
        table.name: max(table.least, round(rows * table.share / shares)) for table in schema.tables
    }


def create_tables(
    connection: sqlite3.Connection, schema: FictionSchema, *, draft: bool = False
) -> None:
    """Makes the empty tables, with keys, CHECK, UNIQUE and REFERENCES. A draft leaves out what computed columns
    must be, which have no values yet."""
    for table in schema.tables:
        lines = [f'"{table.key}" integer primary key']
        lines += [
            line
            for column in table.columns
            for line in _column_lines(column, loose=draft and isinstance(column.make, Sql))
        ]
        lines += [f"unique ({', '.join(columns)})" for columns in table.unique]
        lines += [f'constraint "{says}" check ({check})' for says, check in table.checks.items()]
        # Constraints of the table stand after all columns.
        lines.sort(key=lambda line: line.startswith(("unique (", "constraint ")))
        connection.execute(f'create table "{table.name}" ({", ".join(lines)}) strict')
        for column in table.columns:
            if column.references:
                index = f"{table.name} by {column.name}"
                connection.execute(f'create index "{index}" on "{table.name}" ("{column.name}")')


def _column_lines(column: Column, *, loose: bool) -> list[str]:
    line = f'"{column.name}" {_SQL_TYPES[column.type]}'
    if loose:
        return [line]
    if not column.nullable:
        line += " not null"
    if column.unique:
        line += " unique"
    if column.references:
        line += f' references "{column.references}"'
    lines = [line]
    if column.type == "date":
        lines.append(
            f'constraint "{column.name} is a date" check (date("{column.name}") is "{column.name}")'
        )
    if column.type == "boolean":
        lines.append(f'constraint "{column.name} is 0 or 1" check ("{column.name}" in (0, 1))')
    make = column.make
    if isinstance(make, Between):
        low, high = make.between
        if not isinstance(low, str) or low[:1].isdigit():
            lines.append(_range(column, ">=", low))
        if not isinstance(high, str) or high[:1].isdigit():
            lines.append(_range(column, "<=", high))
    return lines


def _range(column: Column, sign: str, bound: float | str) -> str:
    return f'constraint "{column.name} {sign} {bound}" check ("{column.name}" {sign} {bound!r})'


def insert_rows(
    connection: sqlite3.Connection, table: Table, rows: Sequence[Row], *, ignore: bool = False
) -> None:
    """Writes rows; with `ignore`, those that a constraint refuses are left out.

    Raises:
        sqlite3.IntegrityError: a constraint refuses one.
    """
    names = [table.key, *(column.name for column in table.columns)]
    marks = ", ".join("?" * len(names))
    statement = f'insert {"or ignore " * ignore}into "{table.name}" values ({marks})'
    connection.executemany(statement, ([row[name] for name in names] for row in rows))


def broken_keys(connection: sqlite3.Connection, rule: Rule) -> list[int]:
    """What the rule's query gives of its first column: the keys of its table's rows that break it."""
    return [row[0] for row in connection.execute(f"select * from ({rule.none})")]


class FictionDraft:
    """The rows of one world, and the database that they are held against."""

    def __init__(self, recipe: FictionRecipe, schema: FictionSchema) -> None:
        self._recipe, self._schema = recipe, schema
        self._rows: dict[str, list[DraftRow]] = {table.name: [] for table in schema.tables}
        self._given: dict[str, set[str]] = {}
        self._draws = ValueDraws(recipe.seed, schema, self._rows)
        self._attempts: dict[tuple[str, int], int] = {}

    def complete(self) -> Mapping[str, tuple[Row, ...]]:
        """The rows of all tables, as all constraints and rules have them.

        Raises:
            UsageError: no such rows were found; it names the table and what it refused.
        """
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            # A row that is drawn again is referred to before it is there.
            connection.executescript(
                "pragma foreign_keys = on; begin; pragma defer_foreign_keys = on"
            )
            create_tables(connection, self._schema, draft=True)
            counts = row_counts(self._schema, self._recipe.rows)
            for table in self._schema.tables:
                self._fill(connection, table, counts[table.name])
            self._compute(connection)
            while self._mend(connection):
                self._compute(connection)
            return {table.name: self._read(connection, table) for table in self._schema.tables}

    def _seed(self, table: Table, column: Column) -> str:
        return f"{self._recipe.seed}/{self._schema.name}/{table.name}/{column.name}"

    def _fill(self, connection: sqlite3.Connection, table: Table, count: int) -> None:
        rows = self._rows[table.name]
        if table.given:
            cursor = connection.execute(f"select * from ({table.given}) limit ?", (count,))
            names = [one[0] for one in cursor.description]
            rows += [dict(zip(names, one, strict=True)) for one in cursor]
        else:
            rows += [{} for _ in range(count)]
        given = self._given[table.name] = set(rows[0]) if rows else set[str]()
        for number, row in enumerate(rows, 1):
            row[table.key] = number
        for column in table.columns:
            if column.name in given:
                continue
            seed = self._seed(table, column)
            if isinstance(column.make, Name):
                names = self._recipe.names
                # Twins must not differ in anything else, so that names have draws of their own.
                values = draw_names(column.make.name, names, len(rows), Random(f"{seed}/{names}"))
            else:
                values = self._draws.draw(table, column, rows, Random(seed))
            for row, value in zip(rows, values, strict=True):
                row[column.name] = value
        insert_rows(connection, table, rows, ignore=True)
        kept = {key for (key,) in connection.execute(f'select "{table.key}" from "{table.name}"')}
        for row in rows:
            if row[table.key] not in kept:
                self._redraw(connection, table, row)

    def _redraw(self, connection: sqlite3.Connection, table: Table, row: DraftRow) -> None:
        """Draws all of a row but its name and what is given, until the constraints of its table take it."""
        key = row[table.key]
        connection.execute(f'delete from "{table.name}" where "{table.key}" = ?', (key,))
        refusal = "its rules refused it"
        while (attempt := self._attempts.get((table.name, key), 0)) < DRAWS:
            self._attempts[table.name, key] = attempt + 1
            chance = Random(f"{self._recipe.seed}/{self._schema.name}/{table.name}/{key}/{attempt}")
            for column in table.columns:
                if column.name not in self._given[table.name] and not isinstance(
                    column.make, Name | Sql
                ):
                    row[column.name] = self._draws.draw(table, column, [row], chance)[0]
            try:
                return insert_rows(connection, table, [row])
            except sqlite3.IntegrityError as error:
                refusal = str(error)
        raise self._refusal(table, key, refusal)

    def _refusal(self, table: Table, key: int, refusal: str) -> UsageError:
        return UsageError(
            f"family {self._schema.name!r}, seed {self._recipe.seed}: no row {key} of the table {table.name!r} was"
            f" found in {DRAWS} draws: {refusal}. Widen what its columns draw, or loosen the rule."
        )

    def _compute(self, connection: sqlite3.Connection) -> None:
        for table in self._schema.tables:
            for column in table.columns:
                if not isinstance(column.make, Sql):
                    continue
                statement = f'update "{table.name}" set "{column.name}" = ({column.make.sql})'
                try:
                    connection.execute(statement)
                except sqlite3.Error as error:
                    raise UsageError(
                        f"family {self._schema.name!r}, seed {self._recipe.seed}: the computed column"
                        f" {column.name!r} of the table {table.name!r}: {error}. Correct its SQL, or let a rule say"
                        " what is drawn again."
                    ) from None

    def _mend(self, connection: sqlite3.Connection) -> bool:
        """Draws the rows again that break a rule, and says whether there were any."""
        again = False
        for rule in self._schema.rules:
            if not rule.table:
                continue
            table = self._schema.table(rule.table)
            for key in sorted(set(broken_keys(connection, rule))):
                if self._attempts.get((table.name, key), 0) >= DRAWS:
                    raise self._refusal(table, key, f"it breaks the rule {rule.says!r}")
                self._redraw(connection, table, self._rows[table.name][key - 1])
                again = True
        if again:
            self._draws.forget()
            return True
        for rule in self._schema.rules:
            if keys := broken_keys(connection, rule):
                raise UsageError(
                    f"family {self._schema.name!r}, seed {self._recipe.seed}: {len(keys)} rows break the rule"
                    f" {rule.says!r}, which names no table whose rows are drawn again. Name one, or correct what"
                    " the columns draw."
                )
        return False

    @staticmethod
    def _read(connection: sqlite3.Connection, table: Table) -> tuple[Row, ...]:
        cursor = connection.execute(f'select * from "{table.name}" order by "{table.key}"')
        names = [one[0] for one in cursor.description]
        return tuple(dict(zip(names, row, strict=True)) for row in cursor)
