"""The families that ship: their worlds hold every rule, at any size, and differ by their seeds alone."""

from __future__ import annotations

import random
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import jinja2
import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.engines.search.web_page import Cell
from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_schema import Rule, Table
from agentworld_sim.fiction.makes import Between, Name, Pick, Sql
from agentworld_sim.fiction.name_grammar import real_words
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.schema_files import family_names, read_family
from tests.properties import examples

FAMILIES = family_names()


@cache
def world(family: str, seed: int = 1, rows: int = 60, names: Any = "invented") -> Fiction:
    return Fiction.generate(FictionRecipe(family=family, seed=seed, rows=rows, names=names))


def test_six_families_are_of_all_four_kinds() -> None:
    assert set(FAMILIES) >= {"products", "companies", "careers", "seasons", "science", "releases"}
    kinds = {read_family(name).kind for name in FAMILIES}
    assert kinds == {"time_shifted", "long_tail", "private", "grounded"}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_tables_and_columns_enough_and_texts_for_them(family: str) -> None:
    schema = read_family(family)
    assert 5 <= len(schema.tables) <= 8
    assert sum(len(table.columns) for table in schema.tables) >= 25
    assert len(schema.rules) >= 5
    assert any(table.title == "" for table in schema.tables)
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    for table in schema.tables:
        for column in table.columns:
            for text in column.says:
                said = environment.from_string(text).render(title="Titan", value="7654")
                assert "Titan" in said and "7654" in said
                assert len(column.says) >= 2
            for text in column.asks.values():
                assert environment.from_string(text).render(value="7654").strip()


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**63), rows=st.integers(50, 700))
def test_every_rule_holds_for_any_seed_and_size(family: str, seed: int, rows: int) -> None:
    fiction = Fiction.generate(FictionRecipe(family=family, seed=seed, rows=rows))
    assert fiction.broken_rules() == []
    with closing(fiction.connect()) as connection:
        assert connection.execute("pragma foreign_key_check").fetchall() == []
        for table in fiction.schema.tables:
            read = connection.execute(f"select * from {table.name} order by {table.key}").fetchall()
            assert read == [tuple(row.values()) for row in fiction.rows[table.name]]
            assert [row[table.key] for row in fiction.rows[table.name]] == [
                *range(1, len(read) + 1)
            ]
    assert 0.6 * rows <= sum(map(len, fiction.rows.values())) <= 1.1 * rows + 30


@pytest.mark.slow
@pytest.mark.parametrize("names", ["invented", "real"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_world_of_fifty_thousand_rows_has_names_for_all(family: str, names: str) -> None:
    fiction = world(family, rows=50_000, names=names)
    assert sum(map(len, fiction.rows.values())) > 45_000
    assert fiction.broken_rules() == []


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_recipe_gives_the_same_world_and_leaves_the_global_random_source_alone(
    family: str,
) -> None:
    before = random.getstate()
    recipe = FictionRecipe(family=family, seed=1, rows=60)
    assert Fiction.generate(recipe) == world(family)
    assert Fiction.generate(replace(recipe, seed=2)).rows != world(family).rows
    assert random.getstate() == before


@pytest.mark.slow
def test_the_same_recipe_gives_the_same_world_in_another_process() -> None:
    program = (
        "from agentworld_sim.fiction.fiction import Fiction\n"
        "from agentworld_sim.fiction.recipe import FictionRecipe\n"
        f"for family in {FAMILIES}:\n"
        "    print(Fiction.generate(FictionRecipe(family=family, rows=60)).rows)\n"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1 and texts != {b""}


# What the rules refuse


def changes(fiction: Fiction, table: Table) -> Iterator[tuple[str, int, Any]]:
    """Another value for one cell: of another row, a little or much more or less, nothing, or the row itself."""
    rows = fiction.rows[table.name]
    for column in table.columns:
        values = [row[column.name] for row in rows]
        for row in rows[:12]:
            value = row[column.name]
            near: list[Any] = [None]
            if isinstance(value, int | float):
                near += [value + 1, value - 1, value * 3 + 100, -1]
            if column.references == table.name:
                near.append(row[table.key])
            if column.type == "date":
                near += ["1700-01-01", "2199-12-31"]
            for other in dict.fromkeys([*near, *values]):
                if other != value:
                    yield column.name, row[table.key], other


def breaks(connection: sqlite3.Connection, fiction: Fiction, rule: Rule) -> bool:
    for table in fiction.schema.tables:
        for column, key, value in changes(fiction, table):
            connection.execute("savepoint before")
            connection.execute(
                f"update or ignore {table.name} set {column} = ? where {table.key} = ?",
                (value, key),
            )
            broken = connection.execute(f"select exists ({rule.none})").fetchone()[0]
            connection.execute("rollback to before")
            if broken:
                return True
    return False


@pytest.mark.parametrize(
    ("family", "rule"),
    [(name, rule) for name in FAMILIES for rule in read_family(name).rules],
    ids=lambda one: one.says if isinstance(one, Rule) else one,
)
def test_each_rule_refuses_a_world_in_which_one_cell_is_wrong(family: str, rule: Rule) -> None:
    fiction = world(family)
    with closing(fiction.connect()) as connection:
        connection.execute("pragma foreign_keys = off")
        connection.execute("pragma ignore_check_constraints = on")
        assert breaks(connection, fiction, rule)


def wrong_cells(table: Table) -> Iterator[tuple[str, str, str]]:
    """A refusal, and the columns and values of the second row that earn it."""
    for group in (*table.unique, *((one.name,) for one in table.columns if one.unique)):
        names = ", ".join(group)
        refusal = ", ".join(f"{table.name}.{name}" for name in group)
        first = f"(select {names} from {table.name} where {table.key} = 1)"
        yield f"UNIQUE constraint failed: {refusal}", names, first
    for column in table.columns:
        if not column.nullable:
            yield f"NOT NULL constraint failed: {table.name}.{column.name}", column.name, "null"
        if isinstance(column.make, Between):
            for bound, sign, step in zip(column.make.between, (">=", "<="), (-1, 1), strict=True):
                refusal = f"CHECK constraint failed: {column.name} {sign} {bound}"
                if isinstance(bound, int | float):
                    yield refusal, column.name, str(bound + step)
                elif bound[0].isdigit():
                    yield refusal, column.name, f"date('{bound}', '{step} days')"


@pytest.mark.parametrize("family", FAMILIES)
def test_each_constraint_refuses_a_wrong_row(family: str) -> None:
    fiction = world(family, rows=400)
    with closing(fiction.connect()) as connection:
        for table in fiction.schema.tables:
            for refusal, columns, values in wrong_cells(table):
                with pytest.raises(sqlite3.IntegrityError, match=re.escape(refusal)):
                    connection.execute(
                        f"update {table.name} set ({columns}) = ({values}) where {table.key} = 2"
                    )


@pytest.mark.parametrize("family", FAMILIES)
def test_each_check_of_a_row_refuses_a_wrong_cell(family: str) -> None:
    fiction = world(family)
    found: set[str] = set()
    with closing(fiction.connect()) as connection:
        for table in (one for one in fiction.schema.tables if one.checks):
            for column, key, value in changes(fiction, table):
                try:
                    connection.execute("savepoint before")
                    connection.execute(
                        f"update {table.name} set {column} = ? where {table.key} = ?", (value, key)
                    )
                except sqlite3.IntegrityError as error:
                    found.add(str(error).removeprefix("CHECK constraint failed: "))
                connection.execute("rollback to before")
            assert set(table.checks) <= found


@pytest.mark.parametrize("family", FAMILIES)
def test_a_reference_to_a_row_that_is_not_there_is_refused(family: str) -> None:
    fiction = world(family)
    for table in fiction.schema.tables:
        for column in (one for one in table.columns if one.references):
            rows = [dict(row) for row in fiction.rows[table.name]]
            rows[0][column.name] = 10**6
            wrong = replace(fiction, rows={**fiction.rows, table.name: tuple(rows)})
            with pytest.raises(UsageError, match="FOREIGN KEY"):
                wrong.connect()


# Names


@pytest.mark.parametrize("family", FAMILIES)
def test_twins_differ_in_names_alone(family: str) -> None:
    invented, real = world(family, rows=300), world(family, rows=300, names="real")
    for table in invented.schema.tables:
        for column in table.columns:
            ours = [row[column.name] for row in invented.rows[table.name]]
            theirs = [row[column.name] for row in real.rows[table.name]]
            if isinstance(column.make, Name):
                assert not set(ours) & set(theirs)
            elif not (isinstance(column.make, Sql) and column.type == "text"):
                assert ours == theirs
            # A season's years alone are the same under both names.
            if column.name == table.title and table.name != "seasons":
                assert not set(ours) & set(theirs)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("names", ["invented", "real"])
def test_no_two_things_of_a_world_have_the_same_title(family: str, names: str) -> None:
    for seed in range(5):
        fiction = world(family, seed, 400, names)
        titles = Counter(
            str(row[table.title]).lower()
            for table in fiction.schema.tables
            if table.title
            for row in fiction.rows[table.name]
        )
        assert [title for title, times in titles.items() if times > 1] == []


def test_rows_without_a_title_are_called_by_what_they_refer_to() -> None:
    fiction = world("products")
    offer = fiction.rows["offers"][0]
    product: str = fiction.rows["products"][int(offer["product"]) - 1]["name"]
    shop: str = fiction.rows["shops"][int(offer["shop"]) - 1]["name"]
    assert fiction.title_of("products", offer["product"]) == product
    assert fiction.title_of("offers", 1) == f"{product} \N{EN DASH} {shop}"


# Draws


def test_a_table_more_leaves_the_rows_of_the_others_as_they_are() -> None:
    schema = read_family("products")
    extra = replace(schema.tables[0], name="regions")
    more = replace(schema, tables=(*schema.tables, extra))
    shares = sum(table.share for table in schema.tables)
    recipe = FictionRecipe(family="products", seed=3, rows=300)
    one = Fiction.generate(recipe)
    rows = round(300 * (shares + extra.share) / shares)
    other = Fiction.generate(replace(recipe, rows=rows), more)
    assert {name: other.rows[name] for name in one.rows} == dict(one.rows)


@pytest.mark.parametrize(
    ("family", "table", "column"),
    [
        ("products", "tests", "product"),
        ("science", "papers", "lead"),
        ("releases", "releases", "project"),
    ],
)
def test_few_are_referred_to_often_and_most_of_them_seldom(
    family: str, table: str, column: str
) -> None:
    fiction = world(family, rows=5000)
    make = fiction.schema.table(table).column(column).make
    assert isinstance(make, Pick) and make.pick == "zipf"
    counts = Counter(row[column] for row in fiction.rows[table]).most_common()
    of = len(fiction.rows[fiction.schema.table(table).column(column).references])
    top = sum(times for _, times in counts[: of // 10])
    # By Zipf's law the first tenth has log(n/10) / log(n) of all; fewer where pairs must differ.
    assert top / len(fiction.rows[table]) > 0.6 * log(of / 10) / log(of)
    assert counts[len(counts) // 2][1] <= 3


def test_the_table_of_a_season_follows_from_its_matches() -> None:
    fiction = world("seasons", rows=400)
    for standing in fiction.rows["standings"]:
        points = 0
        for match in fiction.rows["matches"]:
            if match["season"] == standing["season"]:
                goals = (match["home_goals"], match["away_goals"])
                if standing["team"] == match["away"]:
                    goals = goals[::-1]
                elif standing["team"] != match["home"]:
                    continue
                points += 3 if goals[0] > goals[1] else goals[0] == goals[1]
        assert standing["points"] == points


def changed(fiction: Fiction, url: str) -> dict[Any, Any]:
    cells = {
        Cell(table.name, row[table.key], name): truth
        for table in fiction.schema.tables
        for row in fiction.rows[table.name]
        for name, truth in row.items()
    }
    return {
        cell: (truth, shown)
        for cell, truth in cells.items()
        if (shown := fiction.shown_value(cell, url)) != truth
    }


def test_inconsistency_says_facts_otherwise_at_its_rate_and_never_names() -> None:
    plain = world("companies", rows=400)
    assert changed(plain, "https://a/") == {}
    recipe = replace(plain.recipe, inconsistency=0.2)
    torn = Fiction.generate(recipe)
    assert torn.rows == plain.rows
    found = changed(torn, "https://a/")
    assert changed(torn, "https://a/") == found
    assert changed(torn, "https://b/").keys() != found.keys()
    cells = sum(
        (row[column.name] is not None) * (column.name != table.title)
        for table in torn.schema.tables
        for row in torn.rows[table.name]
        for column in table.columns
    )
    assert 0.15 < len(found) / cells < 0.22
    for cell, (_, shown) in found.items():
        assert cell.column not in (torn.schema.table(cell.table).title, "id")
        assert shown in [row[cell.column] for row in torn.rows[cell.table]]


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            {"family": "product"},
            "no family 'product'.* Did you mean 'products'.* careers, companies",
        ),
        ({"family": "products", "rows": 3}, "20 to 1,000,000 rows; 3"),
        ({"family": "products", "inconsistency": 1.5}, "from 0 to 1, not 1.5"),
        ({"family": "products", "names": "old"}, "'invented' or 'real', not 'old'"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(recipe: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Fiction.generate(FictionRecipe(**recipe))


def test_real_names_without_faker_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real_words.cache_clear()
    for name in [one for one in sys.modules if one.split(".")[0] == "faker"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "faker", None)
    with pytest.raises(UsageError, match=r"agentworld-sim\[fiction\]"):
        Fiction.generate(FictionRecipe(family="products", names="real"))
    assert Fiction.generate(FictionRecipe(family="products")).broken_rules() == []


@pytest.mark.parametrize(
    "said", ["a unit", "an umbrella", "an instrument", "a maker", "an hour", "a European", "a user"]
)
def test_articles_follow_the_sound(said: str) -> None:
    noun = said.partition(" ")[2].lower()
    assert Table(name="t", noun=(noun, f"{noun}s"), columns=()).a_noun == said.lower()


@pytest.mark.parametrize("family", family_names())
def test_labels_are_nouns(family: str) -> None:
    # They stand in texts: the highest …, … (maker), list of … by ….
    columns = [one for table in read_family(family).tables for one in table.columns]
    assert [
        one.label for one in columns if re.search(r"^\w+ed$| (by|of|in|on|to)$", one.label)
    ] == []
