"""`Fiction`: a world's rows, and what pages say of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any

from agentworld_sim.engines.search.web_page import Cell
from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.fiction_draft import (
    FictionDraft,
    broken_keys,
    create_tables,
    insert_rows,
)
from agentworld_sim.fiction.fiction_schema import FictionSchema, Row
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.schema_files import read_family


@dataclass(frozen=True, slots=True)
class Fiction:
    """A fictional world: facts that agree with each other."""

    recipe: FictionRecipe
    schema: FictionSchema
    rows: Mapping[str, tuple[Row, ...]]
    """By table, in the order of keys, which are the numbers from 1."""

    @classmethod
    def generate(cls, recipe: FictionRecipe, schema: FictionSchema | None = None) -> Fiction:
        """The world of a recipe; `schema` instead of the one of its family.

        Raises:
            UsageError: there is no such family, the recipe's numbers are out of range, or no rows satisfy the
                schema.
        """
        _check_recipe(recipe)
        schema = schema or read_family(recipe.family)
        fiction = cls(recipe, schema, FictionDraft(recipe, schema).complete())
        fiction.connect().close()
        return fiction

    def connect(self) -> sqlite3.Connection:
        """The rows as a database in memory, in tables with their keys and constraints.

        Raises:
            UsageError: a row breaks a constraint.
        """
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.executescript("pragma foreign_keys = on; begin; pragma defer_foreign_keys = on")
        create_tables(connection, self.schema)
        try:
            for table in self.schema.tables:
                insert_rows(connection, table, self.rows[table.name])
            connection.execute("commit")
        except sqlite3.IntegrityError as error:
            connection.close()
            raise UsageError(
                f"family {self.schema.name!r}, seed {self.recipe.seed}: {error}. The rows or the schema are wrong."
            ) from None
        return connection

    def broken_rules(self) -> list[str]:
        """The schema's rules that do not hold, each in its words."""
        with closing(self.connect()) as connection:
            return [rule.says for rule in self.schema.rules if broken_keys(connection, rule)]

    def title_of(self, table: str, key: int) -> str:
        """What people call a row: its title, or those of the rows that it refers to."""
        made_of, row = self.schema.table(table), self.rows[table][key - 1]
        if made_of.title:
            return row[made_of.title]
        return " \N{EN DASH} ".join(
            self.title_of(column.references, row[column.name])
            for column in made_of.columns
            if column.references and row[column.name] is not None
        )

    def shown_value(self, cell: Cell, url: str) -> Any:
        """What the page at `url` says a cell is: the truth, or, at the recipe's rate, what another row has there.

        The same page always says the same. Names, and cells that are empty, are shown as they are.
        """
        key, rows = int(cell.key), self.rows[cell.table]
        truth = rows[key - 1][cell.column]
        rate, table = self.recipe.inconsistency, self.schema.table(cell.table)
        if not rate or truth is None or cell.column in (table.key, table.title):
            return truth
        chance = Random(f"{self.recipe.seed}/{url}/{'/'.join(map(str, cell))}")
        if chance.random() >= rate:
            return truth
        for _ in range(20):
            other = chance.choice(rows)[cell.column]
            if other not in (truth, None):
                return other
        return truth


def _check_recipe(recipe: FictionRecipe) -> None:
    if not 20 <= recipe.rows <= 1_000_000:
        raise UsageError(f"a world has 20 to 1,000,000 rows; {recipe.rows} were asked for.")
    if not 0 <= recipe.inconsistency <= 1:
        raise UsageError(f"inconsistency is a chance from 0 to 1, not {recipe.inconsistency}.")
    if recipe.names not in ("invented", "real"):
        raise UsageError(f"names are 'invented' or 'real', not {recipe.names!r}.")
