"""Asks scripted agents questions about fictional worlds, and audits what searches print.

    python -m experiments.fictional_worlds --worlds 10

Every family is taken, each world with its twin that has real-looking names. Writes `results.json`.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean, median

from agentworld_sim.bench.run import figure
from agentworld_sim.engines.search import PageIndex
from agentworld_sim.engines.search.search_engine import SearchTurn
from agentworld_sim.engines.search.web_tools import web_extractor, web_search
from agentworld_sim.engines.toolkits import ServerValues
from agentworld_sim.fiction.answer_scores import markdown_table, score_answer
from agentworld_sim.fiction.fiction import Fiction
from agentworld_sim.fiction.fiction_questions import FictionQuestion, questions_of
from agentworld_sim.fiction.leak_audit import SearchCall, find_leaks
from agentworld_sim.fiction.pages import fiction_pages
from agentworld_sim.fiction.query_plan import Filter, QueryPlan, table_at
from agentworld_sim.fiction.recipe import FictionRecipe, Names
from agentworld_sim.fiction.recount import recount
from agentworld_sim.fiction.schema_files import family_names
from agentworld_sim.fiction.searcher import Searcher

QUESTIONS = 10
KNOWN = 0.5
"""The share of an answer's real-looking rows that the closed-book guesser knows by heart."""


@dataclass
class Asked:
    """One question in one world, with its tools."""

    fiction: Fiction
    question: FictionQuestion
    index: PageIndex

    @property
    def turn(self) -> SearchTurn:
        kept = ServerValues({"search/withheld": list(self.question.withheld_values)}, "search/")
        return SearchTurn(
            kept=kept, clock_us=0, seed=0, name="", offline=False, indexes=(self.index,)
        )

    def search(self, queries: Sequence[str]) -> str:
        return web_search(self.turn, {"queries": list(queries)}).text

    def extract(self, url: str) -> str:
        return web_extractor(self.turn, {"url": url}).text


def opens_pages(asked: Asked) -> tuple[str, int]:
    searcher = Searcher(asked.fiction.schema, asked.search, asked.extract)
    return searcher.answer(asked.question.plan), len(searcher.opened)


def reads_snippets(asked: Asked) -> tuple[str, int]:
    """Takes for rows what the results of the question are called."""
    titles = re.findall(r"(?m)^Title: (.*)", asked.search([asked.question.text]))
    names = dict.fromkeys(re.split(r" [-|] |[:,?]", title)[0] for title in titles)
    return values_from_snippets(asked, list(names)), 0


def reads_snippets_of_names(asked: Asked) -> tuple[str, int]:
    """Is told what the rows are called."""
    return values_from_snippets(asked, [str(title) for title, *_ in asked.question.gold.rows]), 0


def values_from_snippets(asked: Asked, names: Sequence[str]) -> str:
    """Looks for each value in what searches print beside the name: the first text of the right kind."""
    gold = asked.question.gold
    rows: list[list[str]] = []
    for name in names:
        row = [name]
        for column in gold.columns[1:]:
            blocks = [
                one for one in asked.search([f"{name} {column}"]).split("\n\n") if name in one
            ]
            said = " ".join(re.findall(r"(?m)^(?:Snippet|Date): (.*)", "\n".join(blocks)))
            steps = gold.metrics[column].preprocess
            if "extract_number" in steps:
                pattern = r"\d[\d,]*(?:\.\d+)?"
            elif "norm_date" in steps:
                pattern = r"[A-Z][a-z]+ \d+, \d{4}"
            else:
                pattern = r"(?<=[a-z] )[A-Z]\w+(?: [A-Z]\w+)*"
            found = re.search(pattern, said.replace(name, ""))
            row.append(found[0] if found else "")
        rows.append(row)
    return markdown_table(gold.columns, rows)


def answers_from_nothing(asked: Asked) -> tuple[str, int]:
    """Makes a table of what the question itself says: names and numbers, in its columns."""
    columns = asked.question.gold.columns
    words = re.findall(r"[A-Z]\w+(?: [A-Z]\w+)*|\d[\d,.]*\d", asked.question.text.split(". ")[0])
    return markdown_table(columns, [(word, *[""] * (len(columns) - 1)) for word in words]), 0


def knows_by_heart(asked: Asked) -> tuple[str, int]:
    """Never searches. It has the twin with real-looking names in its head, as a model has the real world: of the
    answer to the same question there, half of the rows."""
    recipe = asked.fiction.recipe
    twin = prepared(recipe.family, recipe.seed, "real")[0]
    plan = of_twin(asked.question.plan, asked.fiction, twin)
    chance = Random(f"{recipe.family}/{recipe.seed}/{asked.question.plan}")
    kept = [row for row in recount(twin.schema, twin.rows, plan) or [] if chance.random() < KNOWN]
    return markdown_table(asked.question.gold.columns, kept), 0


def of_twin(plan: QueryPlan, fiction: Fiction, twin: Fiction) -> QueryPlan:
    """The plan with the twin's names in its filters."""
    filters: list[Filter] = []
    for one in plan.filters:
        table, column = table_at(fiction.schema, plan.table, one.field.steps), one.field.column
        if column == table.title:
            titles = [row[column] for row in fiction.rows[table.name]]
            one = replace(one, value=twin.rows[table.name][titles.index(one.value)][column])
        filters.append(one)
    return replace(plan, filters=tuple(filters))


AGENTS: dict[str, Callable[[Asked], tuple[str, int]]] = {
    "opens pages": opens_pages,
    "reads snippets alone": reads_snippets,
    "reads snippets, told the names": reads_snippets_of_names,
    "answers from nothing": answers_from_nothing,
    "knows half of the real twin by heart": knows_by_heart,
}

_worlds: dict[tuple[str, int, Names], tuple[Fiction, PageIndex, list[FictionQuestion]]] = {}


def prepared(
    family: str, seed: int, names: Names
) -> tuple[Fiction, PageIndex, list[FictionQuestion]]:
    key = family, seed, names
    if key not in _worlds:
        fiction = Fiction.generate(FictionRecipe(family=family, seed=seed, names=names))
        pages = list(fiction_pages(fiction))
        index = PageIndex(sqlite3.connect(":memory:"))
        index.write(pages)
        _worlds[key] = fiction, index, questions_of(fiction, QUESTIONS, pages=pages)
    return _worlds[key]


def calls_of(question: FictionQuestion) -> Iterator[tuple[str, ...]]:
    """What someone types who wants the answer in the results: the question, each row's name, and the names with the
    columns, five at a time."""
    names = [str(row[0]) for row in question.gold.rows]
    yield (question.text,)
    for start in range(0, len(names), 5):
        yield tuple(names[start : start + 5])
    both = [f"{name} {column}" for name in names for column in question.gold.columns[1:]]
    for start in range(0, len(both), 5):
        yield tuple(both[start : start + 5])


def mean_of(values: dict[str, list[float]]) -> list[float]:
    """The mean with its interval of 95 %: worlds are drawn again, whole."""
    chance, worlds = Random(0), list(values.values())
    means = sorted(
        fmean(value for some in chance.choices(worlds, k=len(worlds)) for value in some)
        for _ in range(2000)
    )
    return [
        round(one, 4)
        for one in (fmean(value for some in worlds for value in some), means[50], means[-51])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=10)
    count = parser.parse_args().worlds
    begun = time.perf_counter()
    success: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    row_f1: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    item_f1: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    opened: list[int] = []
    levels: dict[str, int] = defaultdict(int)
    results = leaks = calls = 0
    for family in family_names():
        for seed in range(count):
            for names in ("invented", "real"):
                fiction, index, questions = prepared(family, seed, names)
                for question in questions:
                    asked, place = Asked(fiction, question, index), f"{family}/{seed}"
                    for agent, answers in AGENTS.items():
                        answer, pages = answers(asked)
                        score = score_answer(question.gold, answer)
                        key = f"{agent}, {names} names"
                        success[key].append((place, score.success))
                        row_f1[key][place].append(score.row_f1)
                        item_f1[key][place].append(score.item_f1)
                        if pages:
                            opened.append(pages)
                    if names == "invented":
                        levels[question.difficulty.level] += 1
                        made = [SearchCall(some, asked.search(some)) for some in calls_of(question)]
                        calls += len(made)
                        results += sum(call.text.count("\nTitle: ") for call in made)
                        leaks += len(find_leaks(fiction, question, made))
        print(
            f"{family}: {results:,} results, {leaks} leaks, {time.perf_counter() - begun:.0f} s",
            flush=True,
        )
        _worlds.clear()
    report = {
        "worlds": count * len(family_names()),
        "questions_of_a_world": QUESTIONS,
        "levels": dict(levels),
        "success_percent": {name: str(figure(rows)) for name, rows in success.items()},
        "row_f1": {name: mean_of(values) for name, values in row_f1.items()},
        "item_f1": {name: mean_of(values) for name, values in item_f1.items()},
        "pages_opened": {"median": median(opened), "most": max(opened)},
        "audit": {"calls": calls, "results": results, "leaks": leaks},
    }
    Path(__file__).with_name("results.json").write_text(
        json.dumps(report, indent=2) + "\n", encoding="utf-8"
    )
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
