"""Agent GSPO: rollouts in worlds, rewarded for the state that is left. [torch]"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import AgentTasks, RolloutRecord, Task, TurnTokens, WorldTask
from agentworld_trainers._functions import function_at, running
from agentworld_trainers.own_rewards import own_world_reward
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.recipes.schema import AgentPart
from agentworld_trainers.stages._reinforcement import Play, part_of, reinforce
from agentworld_trainers.stages._run import Run, StageFolder


def train_agent(recipe: Recipe, run: Run) -> Path:
    """Trains an agent on the recipe's tasks and returns the folder of the result.

    Begins with what the last stage before it has left: after `rl` on predictions that is "prediction
    before action" (arXiv 2606.24597). A rollout earns 1 if all goals of its scenario are met at the end,
    and 0 otherwise, or what the recipe's own function says of the world. Before the first step, after the
    last, and every `measure_every` steps, `held_out/success` is measured, and the same for each group of
    held-out tasks.

    Raises:
        UsageError: the recipe has no such stage, or its tasks, model or reward cannot be used.
        WorldFailure: a server is down, the disk is full, or the loss became no number. The last
            checkpoint is good, and the same call goes on from there.
    """
    part = cast("AgentPart", part_of(run, "agent"))
    given = agent_tasks_of(part, recipe.seed)

    def tasks(tokens: TurnTokens, stage: StageFolder) -> Sequence[Task]:
        return given.train

    def measure(play: Play) -> Mapping[str, float]:
        return success(given.held_out, play, part.measure_temperature)

    with asyncio.Runner() as runner:
        return reinforce(
            run, "agent", tasks, runner=runner, measure=measure, measure_every=part.measure_every
        )


def agent_tasks_of(part: AgentPart, seed: int) -> AgentTasks:
    """The tasks of a recipe, rewarded as it says.

    Args:
        part: The recipe's `agent`.
        seed: Its seed.

    Raises:
        UsageError: the task function or the reward function cannot be used.
    """
    if not part.tasks:
        raise UsageError(
            "the recipe names no tasks. Set `agent.tasks` to the import path of a function, for example"
            " 'my_tasks:tasks'."
        )
    function = function_at(part.tasks, purpose="task function", arguments=("settings", "seed"))
    with running(part.tasks, "task function"):
        given: object = function(part.settings, seed)
    if not isinstance(given, AgentTasks):
        raise UsageError(
            f"the task function {part.tasks!r} returned {type(given).__name__!r}. It must return"
            " `agentworld_sim.rollouts.AgentTasks`."
        )
    if part.reward.judge is not None:
        raise UsageError(
            "an agent is rewarded for the state that it leaves, and `agent.reward.judge` judges"
            " predictions. Leave it out, or name a `function`."
        )
    if part.reward.function:
        _reward_by(part.reward.function, given)
    return given


def success(
    groups: Mapping[str, Sequence[Task]], play: Play, temperature: float
) -> Mapping[str, float]:
    """The mean reward of one rollout of each task: of all, and by group.

    Rollouts that failed for reasons outside the policy are left out and counted as `failed`. Where all of a
    group have failed, nothing is known of it, and it has no mean.
    """
    records = play([task for tasks in groups.values() for task in tasks], temperature)
    if not groups:
        return {}
    found = {**_mean("success", records), "failed": sum(one.reward is None for one in records)}
    place = 0
    for name, tasks in groups.items():
        found |= _mean(name, records[place : place + len(tasks)])
        place += len(tasks)
    return found


def _mean(name: str, records: Sequence[RolloutRecord]) -> dict[str, float]:
    rewards = [one.reward for one in records if one.reward is not None]
    return {name: sum(rewards) / len(rewards)} if rewards else {}


def _reward_by(path: str, given: AgentTasks) -> None:
    """Has a user's own function judge all rollouts."""
    reward = own_world_reward(path)
    for task in (*given.train, *(task for tasks in given.held_out.values() for task in tasks)):
        if not isinstance(task, WorldTask):
            raise UsageError(
                f"the task {task.name!r} is no `WorldTask`, so the reward function {path!r} cannot judge"
                " its world. Let the task's own environment give the reward."
            )
        task.settings = replace(task.settings, reward=reward)
