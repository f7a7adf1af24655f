"""The pocket agent's tasks: they can be solved, not by doing nothing, and held-out ones are new."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from agentworld_sim import World
from agentworld_sim.errors import UsageError
from agentworld_sim.goals import check_goals
from agentworld_trainers.data import Demonstration, SourceTrajectory
from experiments.pocket import agent_data, agent_tasks
from experiments.pocket.agent_templates import FAMILIES, HELD_OUT
from experiments.pocket.demonstrations import NotSolved, demonstration, session
from experiments.pocket.shell_tasks import GROUPS, ShellTask, shell_tasks, written

SMALL = {
    "demonstrated": 200,
    "looks": 30,
    "sessions": 20,
    "train": 150,
    "instances": 40,
    "templates": 40,
}


def of_every_template() -> list[ShellTask]:
    """One task of each template."""
    return [
        written(family, name, "train", 0, Random(f"{family}/{name}"))
        for family, templates in FAMILIES.items()
        for name in templates
    ]


async def left_alone(task: ShellTask) -> list[bool]:
    async with await World.create(task.scenario(), model=False) as world:
        return [result.met for result in await check_goals(world)]


def test_the_expert_solves_a_task_of_every_template() -> None:
    tasks = of_every_template()
    with asyncio.Runner() as runner:
        for task in tasks:
            row = runner.run(demonstration(task))
            assert row.messages[1]["content"] == task.instruction
            assert [one["role"] for one in row.messages[2:]] == [
                *("assistant", "tool") * len(task.commands),
                "assistant",
            ]


def test_doing_nothing_solves_no_task() -> None:
    with asyncio.Runner() as runner:
        for task in of_every_template():
            assert not all(runner.run(left_alone(task))), task.name


async def test_work_that_misses_a_goal_is_no_demonstration() -> None:
    task = next(one for one in of_every_template() if one.template == "create")
    wrong = ShellTask(
        template=task.template,
        group=task.group,
        number=task.number,
        instruction=task.instruction,
        files=task.files,
        goals=task.goals,
        commands=(*task.commands, "rm *"),
    )
    with pytest.raises(NotSolved, match="it is not there"):
        await demonstration(wrong)


def test_no_task_is_in_two_groups_and_held_out_templates_are_in_one() -> None:
    groups = shell_tasks(SMALL, 0)
    contents = [task.content for group in groups.values() for task in group]
    assert len(contents) == len(set(contents)) == sum(SMALL.values())
    for group, tasks in groups.items():
        templates = {task.template for task in tasks}
        assert (templates <= HELD_OUT) == (group == "templates")
        assert (not templates & HELD_OUT) == (group != "templates")


def test_held_out_tasks_stay_the_same_however_many_are_trained_on() -> None:
    few, many = shell_tasks({**SMALL, "train": 10}, 3), shell_tasks({**SMALL, "train": 90}, 3)
    assert few["instances"] == many["instances"]
    assert few["templates"] == many["templates"]
    assert few["train"] == many["train"][:10]
    assert few["instances"] != shell_tasks(SMALL, 4)["instances"]


def test_a_recipes_seed_can_leave_the_tasks_as_they_are() -> None:
    small = {"train": 3, "instances": 2, "templates": 1, "seed": 7}
    first, second = (agent_tasks(small, seed) for seed in (0, 1))
    assert [task.name for task in first.train] == [task.name for task in second.train]
    assert {name: len(tasks) for name, tasks in first.held_out.items()} == {
        "instances": 2,
        "templates": 1,
    }


def test_the_data_is_demonstrations_and_sessions_of_train_and_held_out_templates() -> None:
    counts = {"demonstrated": 6, "looks": 2, "sessions": 4, "templates": 3}
    data = agent_data({**SMALL, **counts}, 0)
    rows = list(data)
    assert len(data) == len(rows)
    shown = [row for row in rows if isinstance(row, Demonstration)]
    played = [row for row in rows if isinstance(row, SourceTrajectory)]
    assert len(shown) == 6
    assert [row.split for row in played] == ["train"] * 6 + ["test"] * 3
    assert [row.task for row in played].count("looks") == 2
    assert not {row.task for row in shown} & HELD_OUT
    assert all(row.task in HELD_OUT for row in played if row.split == "test")


async def test_a_session_is_the_same_whenever_it_is_played() -> None:
    task = of_every_template()[-1]
    first, second = [await session(task, seed=2) for _ in range(2)]
    assert first.turns == second.turns


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"instance": 3}, "no setting 'instance'. Did you mean 'instances'"),
        ({"train": -1}, "'train' of the pocket agent's tasks is a number of tasks: -1"),
    ],
)
def test_wrong_settings_are_told(settings: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        agent_tasks(settings, 0)


def test_the_data_knows_its_own_setting() -> None:
    with pytest.raises(UsageError, match=r"no setting 'session'\. Did you mean 'sessions'"):
        agent_data({"session": 3}, 0)


def test_groups_are_named_as_their_counts_are() -> None:
    assert set(GROUPS) == set(SMALL)
