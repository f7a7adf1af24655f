"""Worlds for the tests of what is built on them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from agentworld_sim.engines.search.web_page import Cell, WebPage
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.recipe import FictionRecipe


@cache
def world(seed: int = 3, family: str = "products", rows: int = 200) -> Fiction:
    return Fiction.generate(FictionRecipe(family=family, seed=seed, rows=rows))


def pages_of_rows(fiction: Fiction) -> Iterator[WebPage]:
    """A page without text for each row, with all that the row says."""
    for table in fiction.schema.tables:
        for row in fiction.rows[table.name]:
            cells = tuple(Cell(table.name, row[table.key], column.name) for column in table.columns)
            yield WebPage(
                url=f"https://world.test/{table.name}/{row[table.key]}",
                title="",
                text="",
                cells=cells,
            )
