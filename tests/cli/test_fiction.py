"""`agentworld fiction`: from nothing to a folder that trainers read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.goals import check_goals
from agentworld_sim.synthesis import world_steps
from tests.cli.in_process import run_command


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTWORLD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def command(*arguments: str) -> CompletedProcess[str]:
    return run_command(("fiction", *arguments), environment=os.environ)


def told(*arguments: str) -> dict[str, Any]:
    done = command(*arguments, "worlds", "--jobs", "1", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["by_family"]["all"]


async def test_a_set_is_built_asked_checked_solved_and_exported(tmp_path: Path) -> None:
    built = told("build", "--family", "products", "--worlds", "2", "--rows", "80")
    assert built["worlds"] == 2 and built["rows"] > 100 and built["pages"] > 100
    assert told("questions", "--count", "2")["questions"] == 4
    checked = told("check")
    assert (checked["answers"], checked["problems"]) == (4, 0) and checked["results"] > 100
    solved = told("solve")
    assert solved["questions"] == 4 and solved["solved"] >= 3
    done = command("export", "worlds", "dataset")
    assert done.stdout == f"dataset: {solved['solved']} questions\n"
    row = json.loads((tmp_path / "dataset/data/train.jsonl").read_text("utf-8").splitlines()[0])
    async with await World.create(Scenario.parse(row["scenario"]), model=False) as world:
        (goal,) = await check_goals(world)
        assert not goal.met
        await world.step(ToolCall("submit_answer", {"answer": row["answer"]}))
        (goal,) = await check_goals(world)
        assert goal.met


def test_the_table_has_a_line_for_each_family() -> None:
    done = command(
        "build", "worlds", "--worlds", "1", "--family", "products", "--rows", "60", "--jobs", "1"
    )
    assert done.returncode == 0
    assert "products" in done.stdout and "all" in done.stdout


def test_what_a_check_finds_is_told_and_ends_the_command_with_4(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def build(recipe: object, earlier: object) -> dict[str, Any]:
        return {"counts": {"rows": 1}, "problems": ["a rule is broken"]}

    monkeypatch.setattr(world_steps, "STEPS", {"build": build})
    done = command("build", "worlds", "--worlds", "1", "--family", "products", "--jobs", "1")
    assert done.returncode == 4
    assert "products-0: a rule is broken\n" in done.stderr


@pytest.mark.slow
def test_many_processes_make_what_one_makes(tmp_path: Path) -> None:
    for folder, jobs in (("one", "1"), ("two", "2")):
        for step in (("build", "--worlds", "3", "--rows", "60"), ("questions", "--count", "2")):
            assert command(step[0], folder, *step[1:], "--jobs", jobs).returncode == 0
    made = [
        {
            str(file.relative_to(tmp_path / name)): file.read_text("utf-8")
            for file in (tmp_path / name).rglob("*.json")
        }
        for name in ("one", "two")
    ]
    assert made[0] == made[1] and len(made[0]) == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "worlds", "--family", "produts"], "Did you mean 'products'?"),
        (["build", "worlds", "--rows", "3"], "50<=x<=50000"),
        (["questions", "nowhere"], "`agentworld fiction build nowhere` makes one"),
        (["export", "nowhere", "out"], "`agentworld fiction build nowhere` makes one"),
    ],
)
def test_mistakes_are_named_and_leave_nothing(arguments: list[str], message: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2 and message in done.stderr
    assert not Path("worlds").exists() and not Path("out").exists()
