"""A world's rows come about: drawn, held against the rules in SQL, and drawn again where they break one."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import count
from random import Random

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Row, Rule, Table
from agentworld_sim.fiction.makes import Between, Name, Sql
from agentworld_sim.fiction.name_grammar import draw_names
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.value_draws import DraftRow, ValueDraws

DRAWS = 60
"""How often a row is drawn before the schema counts as one that cannot be satisfied."""

MAX_STEPS = 1_000
"""Of the virtual machine of SQLite, in millions, for a small world: some ten seconds. One of 50,000 rows takes 330 at
most, and may take six times as many as a small one."""

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
        table.name: max(table.least, len(table.rows), round(rows * table.share / shares))
        for table in schema.tables
    }


def create_tables(
    connection: sqlite3.Connection, schema: FictionSchema, *, draft: bool = False
) -> None:
    """Makes the empty tables, with keys, CHECK, UNIQUE and REFERENCES. A draft leaves out what computed columns
    must be, which have no values yet."""
    for table in schema.tables:
        lines = [f"{table.key} integer primary key"]
        lines += [
            _column_line(column, loose=draft and isinstance(column.make, Sql))
            for column in table.columns
        ]
        lines += [f"unique ({', '.join(columns)})" for columns in table.unique]
        lines += [_constraint(says, check) for says, check in table.checks.items()]
        connection.execute(f"create table {table.name} ({', '.join(lines)}) strict")
        for column in table.columns:
            if column.references:
                index = f"{table.name}_by_{column.name}"
                connection.execute(f"create index {index} on {table.name} ({column.name})")


def _column_line(column: Column, *, loose: bool) -> str:
    name, make = column.name, column.make
    parts = [name, _SQL_TYPES[column.type]]
    if loose:
        return " ".join(parts)
    parts += ["not null"] * (not column.nullable) + ["unique"] * column.unique
    if column.references:
        parts.append(f"references {column.references}")
    if column.type == "date":
        parts.append(_constraint(f"{name} is a date", f"date({name}) is {name}"))
    if column.type == "boolean":
        parts.append(_constraint(f"{name} is 0 or 1", f"{name} in (0, 1)"))
    if isinstance(make, Between):
        for sign, bound in zip((">=", "<="), make.between, strict=True):
            if not isinstance(bound, str) or bound[:1].isdigit():
                parts.append(_constraint(f"{name} {sign} {bound}", f"{name} {sign} {bound!r}"))
    return " ".join(parts)


def _constraint(says: str, check: str) -> str:
    name = says.replace('"', "'")
    return f'constraint "{name}" check ({check})'


def insert_rows(
    connection: sqlite3.Connection, table: Table, rows: Sequence[Row], *, ignore: bool = False
) -> None:
    """Writes rows; with `ignore`, those that a constraint refuses are left out.

    Raises:
        sqlite3.IntegrityError: a constraint refuses one.
    """
    names = [table.key, *(column.name for column in table.columns)]
    marks = ", ".join("?" * len(names))
    statement = f"insert {'or ignore' * ignore} into {table.name} values ({marks})"
    connection.executemany(statement, ([row[name] for name in names] for row in rows))


def broken_keys(connection: sqlite3.Connection, rule: Rule) -> list[int]:
    """What the rule's query gives in its first column, each once: the keys of its table's rows that break it."""
    return list(dict.fromkeys(row[0] for row in connection.execute(f"select * from ({rule.none})")))


class FictionDraft:
    """The rows of one world, and the database that they are held against."""

    def __init__(self, recipe: FictionRecipe, schema: FictionSchema) -> None:
        self._recipe, self._schema = recipe, schema
        self._rows: dict[str, list[DraftRow]] = {table.name: [] for table in schema.tables}
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
            steps, most = count(), MAX_STEPS + self._recipe.rows // 10
            connection.set_progress_handler(lambda: next(steps) > most, 1_000_000)
            create_tables(connection, self._schema, draft=True)
            counts = row_counts(self._schema, self._recipe.rows)
            for table in self._schema.tables:
                self._fill(connection, table, counts[table.name])
            self._compute(connection)
            while self._mend(connection):
                self._compute(connection)
            return {table.name: self._read(connection, table) for table in self._schema.tables}

    @contextmanager
    def _at(self, place: str) -> Generator[None]:
        """Says where something went wrong that the schema's numbers and SQL lead to."""
        try:
            yield
        except (sqlite3.Error, ArithmeticError, ValueError) as error:
            raise self._error(f"{place}: {error}. Correct what the schema says there.") from None

    def _error(self, message: str) -> UsageError:
        return UsageError(f"family {self._schema.name!r}, seed {self._recipe.seed}: {message}")

    def _fill(self, connection: sqlite3.Connection, table: Table, count: int) -> None:
        rows = self._rows[table.name]
        place = f"table {table.name!r}"
        if table.given:
            with self._at(f"{place}, given"):
                cursor = connection.execute(f"select * from ({table.given}) limit ?", (count,))
                names = [one[0] for one in cursor.description]
                rows += [dict(zip(names, one, strict=True)) for one in cursor]
        else:
            rows += [self._with_keys(table, row) for row in table.rows]
            rows += [{} for _ in range(count - len(rows))]
        for number, row in enumerate(rows, 1):
            row[table.key] = number
        for column in table.columns:
            blank = [row for row in rows if column.name not in row]
            seed = f"{self._recipe.seed}/{self._schema.name}/{table.name}/{column.name}"
            if isinstance(column.make, Name):
                names = self._recipe.names
                # Twins must not differ in anything else, so that names have draws of their own.
                drawn = draw_names(column.make.name, names, len(rows), Random(f"{seed}/{names}"))
                taken = {row.get(column.name) for row in rows}
                values = [name for name in drawn if name not in taken][: len(blank)]
            elif column.make:
                with self._at(f"{place}, column {column.name!r}"):
                    values = self._draws.draw(table, column, blank, Random(seed))
            else:
                continue
            for row, value in zip(blank, values, strict=True):
                row[column.name] = value
        with self._at(place):
            insert_rows(connection, table, rows, ignore=True)
        kept = {key for (key,) in connection.execute(f"select {table.key} from {table.name}")}
        for row in rows:
            if row[table.key] not in kept:
                self._redraw(connection, table, row)

    def _with_keys(self, table: Table, written: Row) -> DraftRow:
        """A row that somebody wrote, with keys for the titles of what it refers to."""
        row = dict(written)
        for column in table.columns:
            if column.references and row.get(column.name) is not None:
                other = self._schema.table(column.references)
                titles = [one.get(other.title) for one in other.rows]
                row[column.name] = titles.index(row[column.name]) + 1
        return row

    def _redraw(
        self, connection: sqlite3.Connection, table: Table, row: DraftRow, refusal: str = ""
    ) -> None:
        """Draws all of a row but its name and what is given or written, until the constraints of its table take it."""
        key: int = row[table.key]
        connection.execute(f"delete from {table.name} where {table.key} = ?", (key,))
        written = table.rows[key - 1] if key <= len(table.rows) else {}
        for attempt in range(self._attempts.get((table.name, key), 0), DRAWS):
            self._attempts[table.name, key] = attempt + 1
            chance = Random(f"{self._recipe.seed}/{self._schema.name}/{table.name}/{key}/{attempt}")
            for column in table.columns:
                fixed = column.name in written or isinstance(column.make, Name | Sql)
                if column.make and not fixed:
                    with self._at(f"table {table.name!r}, column {column.name!r}"):
                        row[column.name] = self._draws.draw(table, column, [row], chance)[0]
            try:
                return insert_rows(connection, table, [row])
            except sqlite3.IntegrityError as error:
                refusal = str(error)
        raise self._error(
            f"no row {key} of the table {table.name!r} was found in {DRAWS} draws: {refusal}. Widen what its"
            " columns draw, or loosen the rule."
        )

    def _compute(self, connection: sqlite3.Connection) -> None:
        for table in self._schema.tables:
            for column in table.columns:
                if isinstance(column.make, Sql):
                    with self._at(f"table {table.name!r}, computed column {column.name!r}"):
                        connection.execute(
                            f"update {table.name} set {column.name} = ({column.make.sql})"
                        )

    def _mend(self, connection: sqlite3.Connection) -> bool:
        """Draws the rows again that break a rule, and says whether there were any."""
        again = False
        # Those whose rows cannot be drawn again may follow from what others draw: they come last.
        for rule in sorted(self._schema.rules, key=lambda rule: not rule.table):
            if again and not rule.table:
                break
            with self._at(f"rule {rule.says!r}"):
                keys = broken_keys(connection, rule)
            if keys and not rule.table:
                raise self._error(
                    f"{len(keys)} rows break the rule {rule.says!r}, which names no table whose rows are drawn"
                    " again. Name one, or correct what the columns draw."
                )
            for key in sorted(keys, key=str):
                rows = self._rows[rule.table]
                if key not in range(1, len(rows) + 1):
                    raise self._error(
                        f"the query of the rule {rule.says!r} gives {key!r}, which is no key of the table"
                        f" {rule.table!r}. Let it give keys."
                    )
                table = self._schema.table(rule.table)
                self._redraw(connection, table, rows[key - 1], f"it breaks the rule {rule.says!r}")
                again = True
        self._draws.forget()
        return again

    @staticmethod
    def _read(connection: sqlite3.Connection, table: Table) -> tuple[Row, ...]:
        cursor = connection.execute(f"select * from {table.name} order by {table.key}")
        names = [one[0] for one in cursor.description]
        return tuple(dict(zip(names, row, strict=True)) for row in cursor)
