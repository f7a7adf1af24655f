"""What a set of worlds comes to: the sums of each step, and the datasheet of what is exported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.fiction.recipe import FictionRecipe
    from agentworld_sim.synthesis.world_set import Step, WorldSet

Results = Mapping["FictionRecipe", Mapping[str, Any]]

ALL = "all"
STEPS: tuple[Step, ...] = ("build", "questions", "check", "solve")


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
    card = files("agentworld_sim.synthesis").joinpath("datasheet.md").read_text("utf-8")
    return card.format(
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
