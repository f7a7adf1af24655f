"""Exports of solved questions: scenarios, rows for trainers, and a card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentworld_sim.errors import UsageError
from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.scenario import Scenario
from agentworld_sim.synthesis import world_steps
from agentworld_sim.synthesis.export import write_export
from agentworld_sim.synthesis.world_set import Step, WorldSet, name_of, recipes_of

QUESTION: Mapping[str, Any] = {
    "text": "Which makers were founded in 1931 or later?",
    "sql": "select …",
    "columns": ["maker", "founded"],
    "rows": [["Orvane", 1931], ["Tellun", 1950]],
    "unique": ["maker"],
    "metrics": {"founded": {"metric": "exact_match"}},
    "answer": "| maker | founded |\n| --- | --- |\n| Orvane | 1931 |\n| Tellun | 1950 |",
    "difficulty": {"hops": 1, "level": "easy"},
}


def worlds_in(folder: Path, problems: tuple[str, ...] = ()) -> WorldSet:
    """Worlds of two families whose steps are done, each with two questions of which the first was solved."""
    results: dict[Step, dict[str, Any]] = {
        "build": {"counts": {"rows": 400, "pages": 900}},
        "questions": {"questions": [QUESTION, QUESTION], "counts": {"questions": 2}},
        "check": {"problems": list(problems), "counts": {"results": 50}},
        "solve": {"solved": [True, False], "counts": {"questions": 2, "solved": 1}},
    }

    def step(name: Step) -> Any:
        def work(recipe: FictionRecipe, earlier: Mapping[str, Any]) -> dict[str, Any]:
            return results[name]

        return work

    worlds = WorldSet.begin(folder, recipes_of(["products", "careers"], 21, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world_steps, "STEPS", {name: step(name) for name in results})
        for name in results:
            worlds.run(name, {}, 1, lambda: None)
    return worlds


def rows_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_solved_questions_are_exported_and_no_others(tmp_path: Path) -> None:
    output = tmp_path / "output"
    assert write_export(worlds_in(tmp_path / "set"), output) == 21
    train, test = (rows_in(output / f"data/{split}.jsonl") for split in ("train", "test"))
    assert (len(train), [row["id"] for row in test]) == (19, ["products-9-q1", "careers-9-q1"])
    assert {row["id"] for row in [*train, *test]} == {
        file.stem for file in (output / "scenarios").iterdir()
    }
    row = train[0]
    assert (row["id"], row["family"], row["answer"]) == (
        "products-0-q1",
        "products",
        QUESTION["answer"],
    )
    assert row["prompt"][0]["content"].startswith(QUESTION["text"])


def test_a_row_and_its_file_are_the_same_scenario(tmp_path: Path) -> None:
    output = tmp_path / "output"
    write_export(worlds_in(tmp_path / "set"), output)
    row = rows_in(output / "data/train.jsonl")[0]
    scenario = Scenario.parse(row["scenario"])
    assert (
        scenario.canonical() == Scenario.load(output / "scenarios/products-0-q1.yaml").canonical()
    )
    assert scenario.fiction is not None
    assert scenario.fiction.recipe() == FictionRecipe(family="products")
    assert scenario.instruction == row["prompt"][0]["content"]


def test_the_card_says_what_is_there(tmp_path: Path) -> None:
    output = tmp_path / "output"
    write_export(worlds_in(tmp_path / "set"), output)
    _, header, text = (output / "README.md").read_text("utf-8").split("---\n", 2)
    files = yaml.safe_load(header)["configs"][0]["data_files"]
    assert files == [
        {"split": "train", "path": "data/train.jsonl"},
        {"split": "test", "path": "data/test.jsonl"},
    ]
    assert "21 questions about 21 worlds" in text
    assert "could not answer was thrown away (21 of 42)" in text
    assert "| all | 21 | 8,400 | 18,900 |" in text
    assert "| products | 11 |" in text


def test_what_is_not_proved_is_not_exported(tmp_path: Path) -> None:
    output = tmp_path / "output"
    worlds = worlds_in(tmp_path / "set", problems=("a rule is broken",))
    with pytest.raises(UsageError, match="products-0 found: a rule is broken"):
        write_export(worlds, output)
    (tmp_path / "set/worlds" / name_of(worlds.recipes[0]) / "solve.json").unlink()
    with pytest.raises(UsageError, match="the step 'solve' of products-0 is missing"):
        write_export(worlds, output)
    assert not output.exists()


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "output").mkdir()
    (tmp_path / "output/mine.txt").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        write_export(worlds_in(tmp_path / "set"), tmp_path / "output")
