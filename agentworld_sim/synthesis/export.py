"""The solved questions of a set of worlds as scenarios, and as rows for trainers and `datasets`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentworld_sim.errors import UsageError
from agentworld_sim.synthesis.datasheet import Results, datasheet
from agentworld_sim.synthesis.question_scenarios import scenario_of, yaml_of
from agentworld_sim.synthesis.world_set import Step, WorldSet, missing_step, name_of

HELD_OUT = 10
"""Of each family every so many-th world is for testing, with all its questions."""


def write_export(worlds: WorldSet, output: Path) -> int:
    """Writes the solved questions of checked worlds into a new folder.

    `data/train.jsonl` and `data/test.jsonl` have one question a line, `scenarios/` the same as files, and
    `README.md` says what they are, in the form that `datasets` reads.

    Returns:
        How many questions there are.

    Raises:
        UsageError: the folder is not empty, or a world was not checked and solved, or its check found problems.
    """
    if output.exists() and any(output.iterdir()):
        raise UsageError(f"{output} is not empty. Choose a new folder.")
    rows: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for number, (name, question, scenario) in _solved_questions(worlds):
        split = "test" if number % HELD_OUT == HELD_OUT - 1 else "train"
        rows[split].append(_row(name, question, scenario))
    kept = {split: found for split, found in rows.items() if found}
    (output / "scenarios").mkdir(parents=True)
    (output / "data").mkdir()
    for split, found in kept.items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in found)
        (output / "data" / f"{split}.jsonl").write_text("".join(lines), "utf-8")
        for row in found:
            file = output / "scenarios" / f"{row['id']}.yaml"
            file.write_text(yaml_of(json.loads(row["scenario"])), "utf-8")
    (output / "README.md").write_text(
        datasheet(worlds, {split: len(found) for split, found in kept.items()}), "utf-8"
    )
    return sum(map(len, kept.values()))


def _solved_questions(
    worlds: WorldSet,
) -> Iterator[tuple[int, tuple[str, Mapping[str, Any], dict[str, Any]]]]:
    steps: tuple[Step, ...] = ("questions", "check", "solve")
    found: dict[Step, Results] = {step: worlds.results(step) for step in steps}
    before: Counter[str] = Counter()
    for recipe in worlds.recipes:
        name, number = name_of(recipe), before[recipe.family]
        before[recipe.family] += 1
        for step, results in found.items():
            if recipe not in results:
                raise missing_step(step, worlds.folder, recipe)
        if problems := found["check"][recipe]["problems"]:
            raise UsageError(f"the check of {name} found: {problems[0]}. Nothing was exported.")
        solved = found["solve"][recipe]["solved"]
        asked = found["questions"][recipe]["questions"]
        for place, (question, right) in enumerate(zip(asked, solved, strict=True), 1):
            if right:
                title = f"{name}-q{place}"
                yield number, (title, question, scenario_of(recipe, title, question))


def _row(name: str, question: Mapping[str, Any], scenario: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": name,
        "family": scenario["fiction"]["family"],
        "prompt": [{"role": "user", "content": scenario["instruction"]}],
        "answer": question["answer"],
        "difficulty": question["difficulty"],
        "scenario": json.dumps(scenario, ensure_ascii=False),
    }
