"""The steps of a world: what is wrong is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.fiction.recipe import FictionRecipe
from agentworld_sim.scenario import Scenario
from agentworld_sim.synthesis import world_steps
from agentworld_sim.synthesis.question_scenarios import scenario_of, yaml_of

RECIPE = FictionRecipe(family="products", seed=1, rows=100)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home"))


@pytest.fixture
def questions() -> dict[str, Any]:
    return dict(world_steps.questions(RECIPE, {}, count=3))


def test_what_is_right_is_found_right_and_solved(questions: dict[str, Any]) -> None:
    checked = world_steps.check(RECIPE, questions)
    assert checked["problems"] == []
    assert checked["counts"]["results"] > 100
    solved = world_steps.solve(RECIPE, questions)
    assert solved["solved"] == [True] * 3 and solved["counts"]["calls"] > 10


def test_questions_about_inconsistent_worlds_are_proved_on_pages_that_agree() -> None:
    recipe = replace(RECIPE, inconsistency=0.5)
    asked = world_steps.questions(recipe, {}, count=2)
    assert world_steps.solve(recipe, asked)["solved"] == [True] * 2


def test_a_search_that_withholds_nothing_is_found_to_leak(
    questions: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(*arguments: Any) -> dict[str, Any]:
        scenario = scenario_of(*arguments)
        scenario["goals"][0]["withheld"] = False
        return scenario

    monkeypatch.setattr(world_steps, "scenario_of", careless)
    problems = world_steps.check(RECIPE, questions)["problems"]
    assert problems and all(" show " in problem for problem in problems)


def test_an_answer_that_was_changed_is_found(questions: dict[str, Any]) -> None:
    questions["questions"][1]["rows"][0][-1] = "something else"
    assert world_steps.check(RECIPE, questions)["problems"] == [
        "question 2: another one, or another answer, when it is computed anew"
    ]


def test_a_question_is_a_scenario_also_as_yaml(questions: dict[str, Any]) -> None:
    for question in questions["questions"]:
        data = scenario_of(RECIPE, "q", question)
        scenario = Scenario.model_validate(data)
        assert Scenario.parse(yaml_of(data)).canonical() == scenario.canonical()
        assert scenario.instruction.startswith(question["text"])
