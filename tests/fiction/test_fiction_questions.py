"""Questions about fictional worlds: their answers are right, unique and on no one page."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.fiction.answer_scores import score_answer
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_questions import (
    PAGE_SHARE,
    ROWS,
    FictionQuestion,
    answer_of,
    questions_of,
)
from agentworld_sim.fiction.fiction_schema import Column, FictionSchema, Table
from agentworld_sim.fiction.query_plan import (
    FieldPath,
    Filter,
    QueryPlan,
    Rank,
    cells_behind,
    sql_of,
)
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.recount import recount
from agentworld_sim.fiction.schema_files import family_names
from tests.fiction.worlds import pages_of_rows, world
from tests.properties import examples


def questions(
    count: int = 10, seed: int = 0, world_seed: int = 3, family: str = "products"
) -> list[FictionQuestion]:
    fiction = world(world_seed, family)
    return questions_of(fiction, count, seed, pages=pages_of_rows(fiction))


@pytest.mark.parametrize("family", family_names())
@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_answer_is_right_small_and_needs_all_of_the_question(family: str, seed: int) -> None:
    fiction = world(seed % 5, family)
    with closing(fiction.connect()) as connection:
        for question in questions(6, seed, seed % 5, family):
            rows = question.gold.rows
            assert connection.execute(question.sql).fetchall() == list(rows)
            assert recount(fiction.schema, fiction.rows, question.plan) == list(rows)
            assert 1 <= len(rows) <= ROWS
            assert len({title for title, *_ in rows}) == len(rows)
            assert len(question.gold.columns) > 1
            assert not any(None in row for row in rows)
            assert question.page_share < (PAGE_SHARE if len(rows) > 1 else 1)
            for one in question.plan.filters:
                others = tuple(other for other in question.plan.filters if other is not one)
                fewer = replace(question.plan, filters=others)
                assert connection.execute(sql_of(fiction.schema, fewer)).fetchall() != list(rows)
            assert score_answer(question.gold, question.gold.markdown()).success
            assert all(str(title) not in question.text for title, *_ in rows if len(rows) > 1)


def test_the_same_seed_asks_the_same_and_another_one_something_else() -> None:
    assert questions() == questions()
    assert questions() != questions(seed=1)


def test_questions_are_of_every_shape_and_difficulty() -> None:
    drawn = [one for seed in range(5) for one in questions(30, seed, seed)]
    plans = [one.plan for one in drawn]
    assert {one.hops for one in plans} == {0, 1, 2}
    assert any(one.rank for one in plans) and any(one.aggregates for one in plans)
    assert {len(one.filters) for one in plans} >= {1, 2, 3}
    levels = Counter(one.difficulty.level for one in drawn)
    assert min(levels["easy"], levels["medium"], levels["hard"]) > 10
    assert 5 < sum(len(one.gold.rows) == 1 for one in drawn) < 75


def test_more_rows_and_hops_are_more_difficult() -> None:
    easy = questions(1)[0].difficulty
    assert replace(easy, hops=easy.hops + 1).number == pytest.approx(easy.number + 1)
    assert replace(easy, cells=2 * easy.cells + 1).number == pytest.approx(easy.number + 1)


def test_a_question_says_units_dates_and_columns() -> None:
    drawn = questions(40)
    assert all(" | ".join(one.gold.columns) in one.text for one in drawn)
    dates = [
        one
        for one in drawn
        if any(how.preprocess == ("norm_date",) for how in one.gold.metrics.values())
    ]
    assert dates and all("Write dates as YYYY-MM-DD." in one.text for one in dates)
    weights = [one for one in drawn if "Weight" in one.gold.columns]
    assert weights and all("Weight in g" in one.text for one in weights)


def test_two_ways_to_an_answer_that_differ_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*_: object) -> list[tuple[str, int]]:
        return [("Nobody", 1)]

    monkeypatch.setattr("agentworld_sim.fiction.fiction_questions.recount", wrong)
    with pytest.raises(WorldFailure, match="two ways to one answer differ: select"):
        questions(1, seed=77)


def test_facts_that_stand_on_no_page_are_not_asked_for() -> None:
    with pytest.raises(UsageError, match="gives 0 questions"):
        questions_of(world(), 1, pages=())


TOWNS = FictionSchema(
    name="towns",
    about="Towns.",
    tables=(
        Table(
            name="towns",
            noun=("town", "towns"),
            title="name",
            columns=(
                Column(name="name", type="text", label="Name", unique=True),
                Column(name="people", type="integer", label="People", nullable=True),
                Column(
                    name="twin",
                    type="integer",
                    label="Twin town",
                    references="towns",
                    nullable=True,
                ),
            ),
        ),
    ),
)
PEOPLE, TWIN = FieldPath((), "people"), FieldPath(("twin",), "name")


def towns(*people: int | None) -> dict[str, list[dict[str, object]]]:
    return {
        "towns": [
            {"id": key, "name": f"T{key}", "people": count, "twin": key - 1 or None}
            for key, count in enumerate(people, 1)
        ]
    }


def test_a_world_with_too_few_facts_says_how_many_questions_it_gives() -> None:
    rows = {"towns": tuple(towns(5, 7, 6)["towns"])}
    fiction = Fiction(FictionRecipe(family="towns", seed=3, rows=20), TOWNS, rows)
    with pytest.raises(
        UsageError, match=r"'towns' with 20 rows \(seed 3\) gives \d questions, not 50"
    ):
        questions_of(fiction, 50, pages=pages_of_rows(fiction))


def test_a_ranking_with_two_firsts_has_no_answer() -> None:
    plan = QueryPlan(table="towns", values=(TWIN,), rank=Rank(PEOPLE, highest=True))
    assert recount(TOWNS, towns(5, 7, 7), plan) is None
    assert recount(TOWNS, towns(5, 7, None), plan) is None
    assert recount(TOWNS, towns(5, 7, 6), plan) == [("T2", "T1")]


def test_a_missing_value_passes_no_filter_and_stays_missing_in_an_answer() -> None:
    plan = QueryPlan(table="towns", values=(TWIN,), filters=(Filter(PEOPLE, "at_most", 6),))
    assert recount(TOWNS, towns(5, None, 6), plan) == [("T1", None), ("T3", "T2")]


def test_a_plan_without_a_need_for_its_filter_makes_no_question() -> None:
    fiction = world()
    every = QueryPlan(table="makers", values=(FieldPath((), "staff"),), filters=(
        Filter(FieldPath((), "founded"), "at_least", 1000),))  # fmt: skip
    with closing(fiction.connect()) as connection:
        assert answer_of(fiction, connection, every, singles=True) is None


def test_the_facts_behind_a_value_are_those_that_lead_to_it() -> None:
    schema, rows = world().schema, world().rows
    product = rows["products"][4]
    maker = rows["makers"][int(product["maker"]) - 1]
    population = FieldPath(("maker", "country"), "population")
    assert list(cells_behind(schema, rows, "products", product, population)) == [
        ("products", 5, "maker"),
        ("makers", product["maker"], "country"),
        ("countries", maker["country"], "population"),
    ]
    name = FieldPath(("maker",), "name")
    assert list(cells_behind(schema, rows, "products", product, name)) == [("products", 5, "maker")]
