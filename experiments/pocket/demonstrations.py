"""The data source of the pocket agent: an expert's work to imitate, and sessions to predict.

Both are played in the worlds of the tasks. An expert is a list of commands that its task's template
wrote; what it did is a demonstration only if the goals are met afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from agentworld_sim import ToolCall, World
from agentworld_sim.goals import check_goals
from agentworld_sim.rollouts import tool_objects, write_call
from agentworld_sim.scoring import Message
from agentworld_trainers.data import Demonstration, SourceTrajectory, imagined_tools
from experiments.pocket.parallel import in_processes
from experiments.pocket.shell_tasks import SYSTEM, Group, ShellTask, shell_tasks

PLAYED: Final[tuple[Group, ...]] = ("demonstrated", "looks", "sessions", "templates")
"""Groups whose tasks are played for data."""

DONE: Final = "Done."
"""What the expert says when it is done."""


class NotSolved(ValueError):
    """The expert's commands do not meet the goals of their task."""


@dataclass(frozen=True)
class AgentData:
    """What is played, and played anew, to the same rows, whenever it is read."""

    seed: int
    tasks: Sequence[ShellTask]

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[SourceTrajectory | Demonstration]:
        return in_processes(partial(_played, seed=self.seed), self.tasks)


def agent_data(settings: Mapping[str, Any], seed: int) -> AgentData:
    """Demonstrations, and sessions for prediction. A function for `data.source` of a recipe.

    Sessions are of tasks that are neither demonstrated nor trained on, or, for evaluation, of the
    held-out templates.

    Args:
        settings: How many tasks of each group there are, as for `agent_tasks`.
        seed: Where all random choices start.

    Raises:
        UsageError: there is no such setting.
    """
    groups = shell_tasks(settings, seed)
    return AgentData(seed, tuple(task for group in PLAYED for task in groups[group]))


def _played(tasks: Sequence[ShellTask], *, seed: int) -> list[SourceTrajectory | Demonstration]:
    # One event loop for all worlds: a loop for each takes longer than the world.
    with asyncio.Runner() as runner:
        return [runner.run(_row(task, seed)) for task in tasks]


async def _row(task: ShellTask, seed: int) -> SourceTrajectory | Demonstration:
    if task.group == "demonstrated":
        return await demonstration(task)
    return await session(task, seed=seed, split="test" if task.group == "templates" else "train")


async def demonstration(task: ShellTask) -> Demonstration:
    """What the expert does.

    Raises:
        NotSolved: the goals are not met.
    """
    async with await World.create(task.scenario(), model=False) as world:
        messages: list[Message] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": task.instruction},
        ]
        for command in task.commands:
            call = ToolCall("bash", {"command": command})
            turn = await world.step(call)
            messages.append({"role": "assistant", "content": write_call(call)})
            messages.append({"role": "tool", "content": turn.observation.text})
        missed = [result for result in await check_goals(world) if not result.met]
        if missed:
            raise NotSolved(f"{task.name}: {missed[0].goal}: {missed[0].reason}")
        messages.append({"role": "assistant", "content": DONE})
        return Demonstration(
            id=task.name,
            task=task.template,
            messages=tuple(messages),
            tools=tool_objects(world.tools.values()),
        )


async def session(task: ShellTask, *, seed: int, split: Any = "train") -> SourceTrajectory:
    """A session in the task's world: some of the expert's commands, and looks around.

    Args:
        task: Whose world it is.
        seed: Where random choices start.
        split: Which side the template is on.
    """
    async with await World.create(task.scenario(), model=False) as world:
        random = Random(f"{seed}/session/{task.name}")
        commands = task.commands if task.group == "looks" else _looking(task, random)
        for command in commands:
            await world.step(ToolCall("bash", {"command": command}))
        turns = (await world.trajectory()).turns
        return SourceTrajectory(
            id=f"session/{task.name}",
            task=task.template,
            split=split,
            turns=turns,
            tools=imagined_tools(world.tools, turns),
            prompt_context=world.scenario.model.to_prompt_context("", {}),
            before=await world.state(world.root),
            blobs=world.store.blobs,
        )


def _looking(task: ShellTask, random: Random) -> Sequence[str]:
    """Commands that change something, and commands whose output tells what is there.

    Nothing is looked at that is not there: an answer that is always the same would be guessed.
    """
    commands = list(task.commands[: random.randint(0, len(task.commands))])
    gone = {goal["file"] for goal in task.goals if goal.get("exists") is False}
    there = [name for name, text in task.files.items() if text is not None and name not in gone]
    if len(commands) == len(task.commands):
        there += [goal["file"] for goal in task.goals if "equals" in goal]
    looks = [*(f"cat {random.choice(there)}" for _ in range(4)), f"wc -l {random.choice(there)}"]
    commands += random.sample(looks, 1 if commands else 2)
    return commands
