"""The steps of one world of a set: each gives what it found, with `counts` to be summed up and `problems`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self, cast

from agentworld_sim.engines.search.page_index import PageIndex
from agentworld_sim.fiction.answer_scores import GoldTable
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_questions import FictionQuestion, questions_of
from agentworld_sim.fiction.page_base import fiction_base
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.fiction.schema_files import read_family
from agentworld_sim.runtime.sync import run_sync
from agentworld_sim.scenario import Scenario
from agentworld_sim.synthesis.question_scenarios import scenario_of
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.world import World

Result = Mapping[str, Any]

THINGS = 4
"""So many things of an answer are searched for by name."""


def build(recipe: FictionRecipe, earlier: Result) -> Result:
    rows = sum(map(len, Fiction.generate(recipe).rows.values()))
    base = fiction_base(recipe)
    with base.reading() as connection:
        pages = len(PageIndex(connection))
    size = base.path.stat().st_size // 1000
    return {"content": base.content, "counts": {"rows": rows, "pages": pages, "kB": size}}


def questions(recipe: FictionRecipe, earlier: Result, *, count: int) -> Result:
    asked = _questions(recipe, count)
    return {
        "questions": [_as_data(one) for one in asked],
        "counts": {
            "questions": len(asked),
            "cells": sum(len(one.gold.rows) * len(one.gold.columns) for one in asked),
        },
    }


def check(recipe: FictionRecipe, earlier: Result) -> Result:
    from agentworld_sim.fiction.leak_audit import SearchCall, find_leaks

    fiction = Fiction.generate(recipe)
    problems = fiction.broken_rules()
    results = 0
    for number, (question, kept) in enumerate(_with_data(recipe, earlier), 1):
        if _as_data(question) != kept:
            problems.append(
                f"question {number}: another one, or another answer, when it is computed anew"
            )
        with _Tools(recipe, number, kept) as tools:
            calls = [
                SearchCall(tuple(queries), tools.web_search(queries))
                for queries in _queries_of(question)
            ]
        results += sum(call.text.count("\nTitle: ") for call in calls)
        for leak in find_leaks(fiction, question, calls):
            typed = ", ".join(calls[leak.call].queries)
            problems.append(
                f"question {number}: results of {typed!r} show {leak.value!r} of {leak.name}"
            )
    rules = len(fiction.schema.rules)
    counts = {"rules": rules, "answers": len(earlier["questions"]), "results": results}
    return {"counts": {**counts, "problems": len(problems)}, "problems": problems}


def solve(recipe: FictionRecipe, earlier: Result) -> Result:
    from agentworld_sim.fiction.searcher import solves

    schema = read_family(recipe.family)
    # Where pages contradict each other nobody can know which one is right: the proof is about their twins that agree.
    consistent = replace(recipe, inconsistency=0.0)
    solved: list[bool] = []
    calls = 0
    for number, (question, kept) in enumerate(_with_data(recipe, earlier), 1):
        with _Tools(consistent, number, kept) as tools:
            solved.append(solves(schema, question, tools.web_search, tools.web_extractor))
            calls += tools.calls
    counts = {"questions": len(solved), "solved": sum(solved), "calls": calls}
    return {"solved": solved, "counts": counts}


STEPS: Mapping[str, Callable[..., Result]] = {
    "build": build,
    "questions": questions,
    "check": check,
    "solve": solve,
}


class _Tools:
    """The search tools of a question's own world, for code without an event loop."""

    def __init__(self, recipe: FictionRecipe, number: int, question: Result) -> None:
        scenario = Scenario.model_validate(scenario_of(recipe, f"q{number}", question))
        self._world = World.create_sync(scenario, model=False)
        self.calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        run_sync(self._world.close())

    def web_search(self, queries: Sequence[str]) -> str:
        return self._call("web_search", {"queries": list(queries)})

    def web_extractor(self, url: str) -> str:
        return self._call("web_extractor", {"url": url})

    def _call(self, name: str, arguments: Mapping[str, Any]) -> str:
        self.calls += 1
        return run_sync(self._world.step(ToolCall(name, arguments))).observation.text


def _questions(recipe: FictionRecipe, count: int) -> list[FictionQuestion]:
    fiction = Fiction.generate(recipe)
    return questions_of(fiction, count, recipe.seed, pages=fiction_pages(fiction))


def _with_data(
    recipe: FictionRecipe, earlier: Result
) -> Iterator[tuple[FictionQuestion, Mapping[str, Any]]]:
    kept = earlier["questions"]
    return zip(_questions(recipe, len(kept)), kept, strict=True)


def _as_data(question: FictionQuestion) -> dict[str, Any]:
    gold: GoldTable = question.gold
    return {
        "text": question.text,
        "sql": question.sql,
        "columns": list(gold.columns),
        "rows": [list(row) for row in gold.rows],
        "unique": list(gold.unique_columns),
        "metrics": {name: _plain(asdict(one)) for name, one in gold.metrics.items()},
        "answer": gold.markdown(),
        "difficulty": {
            **asdict(question.difficulty),
            "number": question.difficulty.number,
            "level": question.difficulty.level,
        },
    }


def _plain(metric: dict[str, Any]) -> dict[str, Any]:
    """Without what is so by default; tuples as lists, as JSON reads them back."""
    return {
        name: list(cast("tuple[Any, ...]", one)) if isinstance(one, tuple) else one
        for name, one in metric.items()
        if one
    }


def _queries_of(question: FictionQuestion) -> list[list[str]]:
    """What an agent might type that wants the answer in the results: the question, and some things of the answer by
    their names, alone, and five at a time with the names of columns."""
    gold = question.gold
    places = [gold.columns.index(name) for name in gold.unique_columns]
    wanted = [name for name in gold.columns if name not in gold.unique_columns]
    names = [" ".join(str(row[place]) for place in places) for row in gold.rows[:THINGS]]
    typed = [f"{name} {column}" for name in names for column in wanted]
    batches = [typed[start : start + 5] for start in range(0, len(typed), 5)]
    return [[question.text], *([one] for one in names), *batches]
