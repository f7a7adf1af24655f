"""Questions about a fictional world, each with its right answer and what shows that it is right."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any, Literal

from agentworld_sim.engines.search.web_page import Cell, WebPage
from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.fiction.answer_scores import CellMetric, GoldTable
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.plan_draws import PlanDraws
from agentworld_sim.fiction.query_plan import Aggregate, QueryPlan, cells_behind, sql_of
from agentworld_sim.fiction.question_text import headers, metric_of, question_text
from agentworld_sim.fiction.recount import recount

ROWS = 40
"""An answer has at most so many."""

PAGE_SHARE = 0.6
"""No page shows so much of what an answer rests on."""

DRAWS = 400
"""Plans drawn for one question before a world counts as too poor."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What an agent has to do for an answer."""

    hops: int
    """References that the farthest fact is away."""
    filters: int
    aggregates: int
    rows: int
    cells: int
    """Facts that the answer rests on: those of its rows, the filters' and the values'."""

    @property
    def number(self) -> float:
        """About 2 to 15: it grows by one with each step, and with each doubling of the facts."""
        return round(self.hops + self.filters + 2 * self.aggregates + math.log2(1 + self.cells), 2)

    @property
    def level(self) -> Literal["easy", "medium", "hard"]:
        return "easy" if self.number < 6.5 else "medium" if self.number < 9 else "hard"


@dataclass(frozen=True, slots=True, kw_only=True)
class FictionQuestion:
    """A question with its proof."""

    text: str
    plan: QueryPlan
    sql: str
    """Gives the answer's rows from `Fiction.connect()`."""
    gold: GoldTable
    withheld: tuple[Cell, ...]
    """The facts that its values are; those that several facts make are none of them."""
    difficulty: Difficulty
    page_share: float
    """How much of what the answer rests on the one page shows that shows most."""

    @property
    def withheld_values(self) -> tuple[str | float, ...]:
        """What no search result may show: all values of the gold table beside its titles."""
        return tuple(dict.fromkeys(value for _, *values in self.gold.rows for value in values))


def questions_of(
    fiction: Fiction, count: int, seed: int = 0, *, pages: Iterable[WebPage]
) -> list[FictionQuestion]:
    """Different questions about a world.

    Each answer follows from SQL and again from loops over rows; it has 2 to 40 rows, now and then one; without any
    of its filters it would be another; a ranking has a single first; no value is missing; and it stands on no one
    page.

    Args:
        seed: Of what is asked, and in which words.

    Raises:
        UsageError: the world has too few facts for so many questions.
    """
    drawn = list(islice(draw_questions(fiction, seed, pages=pages), count))
    if len(drawn) < count:
        raise UsageError(
            f"a world of the family {fiction.recipe.family!r} with {fiction.recipe.rows} rows (seed"
            f" {fiction.recipe.seed}) gives {len(drawn)} questions, not {count}. Ask for fewer, or make the world larger."
        )
    return drawn


def draw_questions(
    fiction: Fiction, seed: int = 0, *, pages: Iterable[WebPage]
) -> Iterator[FictionQuestion]:
    """As `questions_of`, one after the other, until `DRAWS` plans in a row make none."""
    # Twins are asked the same.
    chance = Random(f"questions/{seed}/{replace(fiction.recipe, names='invented')}")
    pages_of_cell: dict[Cell, list[str]] = {}
    for page in pages:
        for cell in page.cells:
            pages_of_cell.setdefault(cell, []).append(page.url)
    before: set[object] = set()
    misses = 0
    with closing(fiction.connect()) as connection:
        for plan in PlanDraws(fiction.schema, fiction.rows, chance):
            rows = answer_of(fiction, connection, plan, singles=chance.random() < 0.3)
            misses += 1
            # The same things asked for other values are not another question.
            about = (plan.table, frozenset(plan.filters), plan.rank)
            if rows is not None and about not in before:
                found = _question(fiction, plan, rows, pages_of_cell, chance)
                if found:
                    before.add(about)
                    misses = 0
                    yield found
            if misses >= DRAWS:
                return


def answer_of(
    fiction: Fiction, connection: sqlite3.Connection, plan: QueryPlan, *, singles: bool
) -> list[tuple[Any, ...]] | None:
    """The rows of a plan that makes a question; None if it makes none.

    Args:
        singles: Whether one row will do without a ranking.

    Raises:
        WorldFailure: SQL and the loops over rows disagree, which is a defect of ours.
    """
    schema = fiction.schema
    rows = connection.execute(sql_of(schema, plan)).fetchall()
    least = 1 if singles or plan.rank else 2
    if not least <= len(rows) <= ROWS or any(None in row for row in rows):
        return None
    if len(rows) == 1 and not plan.hops:
        return None
    for one in plan.filters:
        fewer = replace(plan, filters=tuple(other for other in plan.filters if other is not one))
        if connection.execute(sql_of(schema, fewer)).fetchall() == rows:
            return None
    if len(rows) == len(fiction.rows[plan.table]):
        return None
    again = recount(schema, fiction.rows, plan)
    if again is None:
        return None
    if again != rows:
        raise WorldFailure(
            f"two ways to one answer differ: {sql_of(schema, plan)} gives {rows}, loops over the rows of"
            f" {fiction.recipe} give {again}. Please report this."
        )
    return rows


def _question(
    fiction: Fiction,
    plan: QueryPlan,
    rows: Sequence[tuple[Any, ...]],
    pages_of_cell: Mapping[Cell, Sequence[str]],
    chance: Random,
) -> FictionQuestion | None:
    schema = fiction.schema
    columns = headers(schema, plan)
    if len({one.lower().replace(" ", "") for one in columns}) < len(columns):
        return None
    withheld, needed = dict[Cell, None](), dict[Cell, None]()
    titles = {title for title, *_ in rows}
    for row in fiction.rows[plan.table]:
        for what in plan.used if row[schema.table(plan.table).title] in titles else ():
            cells = list(cells_behind(schema, fiction.rows, plan.table, row, what))
            needed.update(dict.fromkeys(cells))
            if what in plan.values and not isinstance(what, Aggregate):
                withheld.update(dict.fromkeys(cells[-1:]))
    if not plan.values or not needed:
        return None
    shown = Counter(url for cell in needed for url in pages_of_cell.get(cell, ()))
    share = max(shown.values(), default=0) / len(needed)
    if share >= (PAGE_SHARE if len(rows) > 1 else 1) or any(
        cell not in pages_of_cell for cell in needed
    ):
        return None
    table = plan.table
    metrics = {columns[0]: CellMetric(preprocess=("norm_str",))}
    metrics |= {
        name: metric_of(schema, table, what)
        for name, what in zip(columns[1:], plan.values, strict=True)
    }
    return FictionQuestion(
        text=question_text(schema, plan, chance),
        plan=plan,
        sql=sql_of(schema, plan),
        gold=GoldTable(
            columns=columns, rows=tuple(rows), unique_columns=columns[:1], metrics=metrics
        ),
        withheld=tuple(withheld),
        difficulty=Difficulty(
            plan.hops, len(plan.filters), len(set(plan.aggregates)), len(rows), len(needed)
        ),
        page_share=share,
    )
