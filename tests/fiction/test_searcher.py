"""A script that reads only what the tools print reaches the answers."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from agentworld_sim.engines.search.page_index import PageIndex
from agentworld_sim.engines.search.search_engine import SearchTurn
from agentworld_sim.engines.search.web_tools import web_extractor, web_search
from agentworld_sim.engines.toolkits import ServerValues
from agentworld_sim.fiction.answer_scores import score_answer
from agentworld_sim.fiction.fiction_questions import FictionQuestion, questions_of
from agentworld_sim.fiction.leak_audit import SearchCall, find_leaks
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.fiction.schema_files import family_names
from agentworld_sim.fiction.searcher import Searcher, solves
from tests.fiction.worlds import world


@cache
def index(seed: int, family: str) -> PageIndex:
    found = PageIndex(sqlite3.connect(":memory:"))
    found.write(fiction_pages(world(seed, family)))
    return found


def questions(seed: int, family: str) -> list[FictionQuestion]:
    return questions_of(world(seed, family), 10, seed, pages=fiction_pages(world(seed, family)))


def tools(
    question: FictionQuestion, pages: PageIndex
) -> tuple[Callable[[Sequence[str]], str], Callable[[str], str]]:
    kept = ServerValues({"search/withheld": list(question.withheld_values)}, "search/")
    turn = SearchTurn(kept=kept, clock_us=0, seed=0, name="", offline=False, indexes=(pages,))
    return (
        lambda queries: web_search(turn, {"queries": queries}).text,
        lambda url: web_extractor(turn, {"url": url}).text,
    )


@pytest.mark.parametrize("family", family_names())
def test_nearly_every_question_is_solved_with_the_tools(family: str) -> None:
    solved = [
        solves(world(seed, family).schema, question, *tools(question, index(seed, family)))
        for seed in range(2)
        for question in questions(seed, family)
    ]
    assert len(solved) == 20
    assert sum(solved) >= 19


def test_no_answer_is_found_where_a_page_is_missing() -> None:
    question = questions(0, "products")[0]
    search, extract = tools(question, index(0, "products"))
    searcher = Searcher(world(0).schema, search, extract)
    assert score_answer(question.gold, searcher.answer(question.plan)).success
    needed = next(
        url for url in searcher.opened if str(question.gold.rows[0][0]).replace(" ", "_") in url
    )
    searcher.web_extractor = lambda url: "Error: not found." if url == needed else extract(url)
    assert not score_answer(question.gold, searcher.answer(question.plan)).success


def test_a_search_that_finds_nothing_gives_no_answer() -> None:
    question = questions(0, "products")[0]
    assert (
        Searcher(world(0).schema, lambda _: "No results found.", lambda _: "").answer(question.plan)
        == ""
    )


@pytest.mark.parametrize("family", family_names())
def test_results_show_nothing_of_an_answer(family: str) -> None:
    for question in questions(0, family)[:4]:
        search, _ = tools(question, index(0, family))
        names = [str(row[0]) for row in question.gold.rows]
        queries = [(question.text,), *[(name,) for name in names], tuple(names[:5])]
        queries += [(f"{name} {column}",) for name in names for column in question.gold.columns[1:]]
        calls = [SearchCall(some, search(some)) for some in queries]
        assert find_leaks(world(0, family), question, calls) == []
