"""What a set of worlds comes to: the sums of each step, and the datasheet of what is exported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.fiction.recipe import FictionRecipe
    from agentworld_sim.synthesis.world_set import WorldSet

Results = Mapping["FictionRecipe", Mapping[str, Any]]

ALL = "all"
STEPS = ("build", "questions", "check", "solve")

_CARD = """---
pretty_name: Fictional worlds
license: apache-2.0
language: [en]
task_categories: [question-answering]
tags: [search, agents, synthetic]
configs:
  - config_name: default
    data_files:
{files}
---

# Fictional worlds

{questions:,} questions about {worlds:,} worlds that exist nowhere. Each world is a database of invented facts that
agree with each other, and an internet whose pages say them. An agent that has the tools `web_search` and
`web_extractor` can answer every question; what a model knows of the real world answers none.

## What a row is

| field | |
|---|---|
| `id` | the world (family, seed) and the number of its question |
| `family` | what the world is about |
| `prompt` | the question as messages |
| `answer` | the right table, in Markdown |
| `difficulty` | hops between tables, filters, rows, cells, and the level that follows |
| `scenario` | all of it as JSON: `World.create(Scenario.parse(row["scenario"]))` is the world, `check_goals` the score |

`scenarios/` has the same as files. Every tenth world is in the split `test`, with all its questions.

## How it was made

No model and no text of others was used: a schema of tables and rules, name grammars and templates are filled from a
seed, so that the recipe of a world is enough to build it again, byte for byte. `agentworld fiction build, questions,
check, solve, export` did that:

{recipe}

{steps}

## What is proved

- Every rule of every world's schema holds: keys, ranges, orders in time, totals.
- Every answer was computed twice, by SQL and by an evaluator that shares no code with it, and both agree.
- Every question has been answered by a scripted searcher that reads what the tools print and nothing else; what it
  could not answer was thrown away ({thrown:,} of {drawn:,}).
- No result of a search shows the answer: an auditor that shares no code with the guard read {audited:,} results.

## Difficulty

{levels}

## Limits

The questions are made from templates, in English. Pages agree with each other more than those of the real web do,
unless the recipe says otherwise. People, firms and places are invented; where a name is that of a real one, that is
chance.
"""


def sums_of(found: Results) -> dict[str, dict[str, int]]:
    """What a step counted, summed up for each family and for all."""
    sums: dict[str, Counter[str]] = {}
    for recipe, result in found.items():
        for line in (recipe.family, ALL):
            sums.setdefault(line, Counter()).update({"worlds": 1, **result["counts"]})
    if ALL in sums:
        sums[ALL] = sums.pop(ALL)
    return {line: dict(counted) for line, counted in sums.items()}


def problems_of(found: Results) -> list[str]:
    """What a step found wrong, with the world that it is wrong in."""
    from agentworld_sim.synthesis.world_set import name_of

    return [
        f"{name_of(recipe)}: {problem}"
        for recipe, result in found.items()
        for problem in result.get("problems", [])
    ]


def datasheet(worlds: WorldSet, splits: Mapping[str, int]) -> str:
    """The card of an export: YAML for `datasets`, Markdown for people.

    Args:
        worlds: The set, with all its steps done.
        splits: Name to number of questions.
    """
    found = {step: worlds.results(step) for step in STEPS}
    sums = {step: sums_of(results) for step, results in found.items()}
    solve, check = sums["solve"][ALL], sums["check"][ALL]
    levels: dict[str, Counter[str]] = {}
    for recipe, result in found["questions"].items():
        solved = found["solve"][recipe]["solved"]
        for question, right in zip(result["questions"], solved, strict=True):
            if right:
                level = question["difficulty"]["level"]
                levels.setdefault(recipe.family, Counter())[level] += 1
    first = worlds.recipes[0]
    return _CARD.format(
        files="\n".join(f"      - split: {one}\n        path: data/{one}.jsonl" for one in splits),
        questions=sum(splits.values()),
        worlds=len(worlds.recipes),
        recipe=f"rows: {first.rows}; names: {first.names}; inconsistency: {first.inconsistency}",
        steps="\n\n".join(_table(f"`{step}`", sums[step]) for step in STEPS),
        thrown=solve["questions"] - solve["solved"],
        drawn=solve["questions"],
        audited=check["results"],
        levels=_table("family", levels),
    )


def _table(title: str, lines: Mapping[str, Mapping[str, int]]) -> str:
    columns = list(dict.fromkeys(name for line in lines.values() for name in line))
    rows: list[Sequence[str]] = [[title, *columns], ["---"] * (len(columns) + 1)]
    rows += [[name, *(f"{line.get(one, 0):,}" for one in columns)] for name, line in lines.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
