"""The data source of the pocket agent: an expert's work to imitate, and sessions to predict.

Both are played in the worlds of the tasks. An expert is a list of commands that its task's template
wrote; what it did is a demonstration only if the goals are met afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from agentworld_sim import ToolCall, World
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.goals import check_goals
from agentworld_trainers.data import Demonstration, SourceTrajectory, imagined_tools
from agentworld_trainers.data._rows import Message
from agentworld_trainers.pocket._agent_tasks import COUNTS, SYSTEM, ShellTask, shell_tasks
from agentworld_trainers.pocket._agent_templates import ANSWER
from agentworld_trainers.rollouts._hermes import tool_objects, write_call

DONE: Final = "Done."
"""What the expert says when it is done."""

SESSIONS: Final = "sessions"
"""The setting that says how many sessions are played for prediction."""


class NotSolved(ValueError):
    """The expert's commands do not meet the goals of their task."""


def agent_data(
    settings: Mapping[str, Any], seed: int
) -> Iterator[SourceTrajectory | Demonstration]:
    """Demonstrations, and sessions for prediction. A function for `data.source` of a recipe.

    Sessions are of tasks that are demonstrated, or, for evaluation, of the held-out templates.

    Args:
        settings: How many tasks of each group there are, as for `agent_tasks`, and `sessions`: how many
            sessions (1500).
        seed: Where all random choices start.

    Raises:
        UsageError: there is no such setting.
    """
    known = {**COUNTS, SESSIONS: 1500}
    for name in settings:
        if name not in known:
            raise UsageError(
                f"the pocket agent's data has no setting {name!r}.{nearest(name, known)} There are:"
                f" {', '.join(known)}."
            )
    sessions = int(settings.get(SESSIONS, known[SESSIONS]))
    counts = {name: value for name, value in settings.items() if name != SESSIONS}
    groups = shell_tasks(counts, seed)
    # One event loop for all worlds: a loop for each takes longer than the world.
    with asyncio.Runner() as runner:
        for number, task in enumerate(groups["demonstrated"]):
            yield runner.run(demonstration(task))
            if number < sessions:
                yield runner.run(session(task, seed=seed))
        for task in groups["templates"]:
            yield runner.run(session(task, seed=seed, split="test"))


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
        for command in _looking(task, Random(f"{seed}/session/{task.name}")):
            await world.step(ToolCall("bash", {"command": command}))
        turns = (await world.trajectory()).turns
        return SourceTrajectory(
            id=f"session/{task.name}",
            task=task.template,
            split=split,
            turns=turns,
            tools=imagined_tools(world.tools, turns),
            briefing=world.scenario.model.to_briefing("", {}),
            before=await world.state(world.root),
            blobs=world.store.blobs,
        )


def _looking(task: ShellTask, random: Random) -> Sequence[str]:
    """Commands that change something, and commands whose output tells what is there."""
    files = [name for name, text in task.files.items() if text is not None]
    touched = [str(goal["file"]) for goal in task.goals if "file" in goal]
    commands = list(task.commands[: random.randint(0, len(task.commands))])
    looks = [
        *(f"cat {random.choice(files)}", f"cat {random.choice(touched)}", "ls"),
        *(f"wc -l {random.choice(files)}", f"grep -l {_word(task, random)} *"),
        *(f"cat {ANSWER}", f"cat {random.choice(touched)}"),
    ]
    commands += random.sample(looks, 1 if commands else 2)
    return commands


def _word(task: ShellTask, random: Random) -> str:
    texts = [text for text in task.files.values() if text]
    return random.choice(random.choice(texts).replace("=", " ").split())
