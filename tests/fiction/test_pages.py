"""The pages of a fictional world.

python -m tests.fiction.test_pages    write the pages that are looked at
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from itertools import count
from pathlib import Path

import pytest

from agentworld_sim.engines.search import Cell, WebPage
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Table
from agentworld_sim.fiction.pages import LINES, fiction_pages, value_text
from agentworld_sim.fiction.recipe import FictionRecipe, Names
from agentworld_sim.fiction.schema_files import family_names

GOLDEN = Path(__file__).parent / "data" / "pages.md"

LINK = re.compile(r"\]\(([^)]*)\)")

KETTLES = FictionSchema(
    name="kettles",
    about="Makers and their kettles.",
    today="2026-03-02",
    tables=(
        Table(
            name="makers",
            noun=("maker", "makers"),
            title="name",
            columns=(
                Column(name="name", type="text", label="Name"),
                Column(name="seat", type="text", label="Head office", says=("{{ title }} sits in {{ value }}.",)),
                Column(name="staff", type="integer", label="Employees", unit="people"),
            ),
        ),
        Table(
            name="kettles",
            noun=("kettle", "kettles"),
            title="name",
            columns=(
                Column(name="name", type="text", label="Name"),
                Column(name="maker", type="integer", label="Maker", references="makers", says=("{{ title }} is made by {{ value }}.", "The maker of {{ title }} is {{ value }}.")),
                Column(name="launched", type="date", label="Launched", says=("{{ title }} was launched on {{ value }}.",)),
                Column(name="weight", type="number", label="Weight", unit="g", says=("{{ title }} weighs {{ value }} g.",)),
                Column(name="code", type="text", label="Model code", nullable=True),
            ),
        ),
        Table(
            name="tests",
            noun=("test", "tests"),
            columns=(
                Column(name="kettle", type="integer", label="Kettle", references="kettles"),
                Column(name="tester", type="integer", label="Tester", references="makers"),
                Column(name="verdict", type="text", label="Verdict"),
                Column(name="report", type="text", label="Report"),
            ),
        ),
    ),
)  # fmt: skip


def kettles(many: int = 3, inconsistency: float = 0.0) -> Fiction:
    """A world in which every fact is written like no other."""
    number = count(10_001)
    makers = [
        {"id": key, "name": f"Maker{next(number)}", "seat": f"Seat{next(number)}", "staff": next(number)}
        for key in (1, 2)
    ]  # fmt: skip
    things = [
        {"id": key, "name": f"Kettle{next(number)}", "maker": 1, "launched": f"{1500 + key}-05-06", "weight": float(next(number)), "code": f"Code{next(number)}" if key % 2 else None}
        for key in range(1, many + 1)
    ]  # fmt: skip
    tests = [
        {"id": key, "kettle": key, "tester": 2, "verdict": f"Verdict{next(number)}", "report": f"Report{next(number)}"}
        for key in range(1, many + 1)
    ]  # fmt: skip
    rows = {"makers": tuple(makers), "kettles": tuple(things), "tests": tuple(tests)}
    return Fiction(FictionRecipe(family="kettles", seed=3, inconsistency=inconsistency), KETTLES, rows)  # fmt: skip


def one_of_each() -> str:
    """A page of each kind, as people and programs see them."""
    pages = fiction_pages(kettles(12))
    found: dict[str, WebPage] = {}
    for page in pages:
        if "Kettle" in page.title or page.kind == "table":
            kind = "main page" if page.title.startswith("Main") else page.kind
            found.setdefault(kind, page)
    return "\n".join(
        f"<!-- {kind} {page.url} {page.date or '-'}\n{page.title}\n{page.teaser} -->\n{page.text}\n"
        for kind, page in found.items()
    )


def test_the_pages_of_each_kind_are_those_that_were_looked_at() -> None:
    assert one_of_each() == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("many", [3, 2 * LINES + 5])
def test_the_cells_of_a_page_are_exactly_the_facts_that_stand_on_it(many: int) -> None:
    fiction = kettles(many)
    facts = {
        Cell(table.name, row["id"], column.name): value_text(column, row[column.name])
        for table in KETTLES.tables
        for row in fiction.rows[table.name]
        for column in table.columns
        if not column.references and row[column.name] is not None
    }
    shown: Counter[Cell] = Counter()
    for page in fiction_pages(fiction):
        text = LINK.sub("]", page.text)
        listed = {cell for cell in page.cells if not KETTLES.table(cell.table).column(cell.column).references}  # fmt: skip
        assert listed == {cell for cell, value in facts.items() if re.search(rf"{value}(?!\d)", text)}  # fmt: skip
        values = [value for cell, value in facts.items() if cell.column != "name"]
        assert not any(value in page.teaser + page.title for value in values)
        shown.update(page.cells)
    assert set(facts) <= set(shown)
    references = [("kettles", "maker"), ("tests", "kettle"), ("tests", "tester")]
    for table, column in references:
        assert all(Cell(table, key, column) in shown for key in range(1, many + 1))


def test_no_page_shows_a_whole_table_with_all_its_columns() -> None:
    fiction = kettles(30)
    for page in fiction_pages(fiction):
        for table in KETTLES.tables:
            whole = {Cell(table.name, row["id"], one.name) for row in fiction.rows[table.name] for one in table.columns if row[one.name] is not None}  # fmt: skip
            assert not whole <= set(page.cells), page.url


@pytest.mark.parametrize(
    ("family", "names"), [(one, "invented") for one in family_names()] + [("companies", "real")]
)
def test_the_pages_of_every_family_lead_to_each_other_and_lie_in_its_time(
    family: str, names: Names
) -> None:
    fiction = Fiction.generate(FictionRecipe(family=family, seed=5, rows=300, names=names))
    pages = list(fiction_pages(fiction))
    urls = [page.url for page in pages]
    assert len(set(urls)) == len(urls)
    assert {url for page in pages for url in LINK.findall(page.text)} <= set(urls)
    titled = sum(len(fiction.rows[table.name]) for table in fiction.schema.tables if table.title)
    assert titled <= len(pages) <= 4 * titled
    today = date.fromisoformat(fiction.schema.today)
    assert all(date.fromisoformat(page.date) <= today for page in pages if page.date)
    every = {
        Cell(table.name, row[table.key], column.name)
        for table in fiction.schema.tables
        for row in fiction.rows[table.name]
        for column in table.columns
        if row[column.name] is not None
    }
    assert {cell for page in pages for cell in page.cells} == every
    assert pages == list(fiction_pages(fiction))
    assert not any("None" in page.text for page in pages)


def test_an_inconsistent_world_says_otherwise_on_the_same_pages() -> None:
    true, other = list(fiction_pages(kettles(9))), list(fiction_pages(kettles(9, 0.5)))
    assert [page.url for page in true] == [page.url for page in other]
    assert [page.text for page in true] != [page.text for page in other]
    weights = {
        weight
        for page in other
        if page.cells
        for weight in re.findall(r"\| Weight \| ([\d,]+) g", page.text)
    }
    assert len(weights) > 1


if __name__ == "__main__":
    GOLDEN.write_text(one_of_each(), encoding="utf-8")
