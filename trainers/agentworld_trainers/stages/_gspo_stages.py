"""The two stages of reinforcement learning: `rl` on single predictions of what an environment says next, and
`agent` on rollouts in worlds, rewarded for the state that is left. [torch]
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import (
    AgentTasks,
    Opening,
    PredictionTask,
    RolloutRecord,
    Task,
    TurnTokens,
    WorldTask,
    opening_tag,
)
from agentworld_sim.scoring import Judge, PredictionReward, PredictionSample, Reward, RewardFunction
from agentworld_trainers.data._rows import read_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.recipes.schema import AgentPart, Gspo, RewardPart
from agentworld_trainers.stages._reinforcement import Play, part_of, reinforce
from agentworld_trainers.stages._run import Run, StageFolder, file_digest
from agentworld_trainers.user_functions import function_at, own_reward, own_world_reward, running

MOST_HELD_OUT = 200
"""Held-out samples that are measured before and after; `train eval` measures all of them."""


def train_rl(recipe: Recipe, run: Run) -> Path:
    """Trains on the data stage's single predictions and returns the folder of the result.

    Each sample is one task of one turn. It is rewarded by the recipe's own function, or else by
    `PredictionReward` with the recipe's judge, if it has one. Before the first step and after the last,
    `held_out/exact` and `held_out/form` are measured by the rule alone.

    Raises:
        UsageError: the recipe has no such stage, or its data, model or reward cannot be used.
        WorldFailure: a server is down, the disk is full, or the loss became no number. The last
            checkpoint is good, and the same call goes on from there.
    """
    part = part_of(run, "rl")
    reward, judge = reward_of(part.reward)
    with asyncio.Runner() as runner:
        try:
            return _train(run, part, reward, judge, runner)
        finally:
            if judge is not None:
                runner.run(judge.close())


def reward_of(part: RewardPart) -> tuple[RewardFunction, Judge | None]:
    """What predictions earn, and the judge whose connections are to be closed.

    Raises:
        UsageError: the function does not exist, or a judge is named beside it.
    """
    if part.function:
        if part.judge is not None:
            raise UsageError(
                "the recipe names a reward `function` and a `judge`, and only the function would be"
                " asked. Leave one of them out."
            )
        return own_reward(part.function), None
    if part.judge is None:
        return PredictionReward(), None
    prompts = Path(part.judge.prompts) if part.judge.prompts else None
    judge = Judge.at(part.judge.url, part.judge.model, prompts=prompts)
    return PredictionReward(judge=judge, judge_weight=part.judge.weight), judge


def _train(
    run: Run, part: Gspo, reward: RewardFunction, judge: Judge | None, runner: asyncio.Runner
) -> Path:
    held: list[PredictionTask] = []

    def tasks(tokens: TurnTokens, stage: StageFolder) -> Sequence[PredictionTask]:
        if judge is not None:
            # What is wrong with it is told now, and not after the first batch.
            stage.say(f"rl: {runner.run(judge.ready())} judges")
        path = run.data("rl.jsonl")
        stage.hold("data", file_digest(path))
        opened = opening_tag(tokens.begin)
        others = _spread(list(read_rows(run.data("eval.jsonl"), PredictionSample)), MOST_HELD_OUT)
        held.extend(
            PredictionTask(one, _exactness, opened=opened)
            for one in _fitting(others, tokens, part, stage, "held-out samples")
        )
        samples = list(read_rows(path, PredictionSample))
        return [
            PredictionTask(one, reward, opened=opened)
            for one in _fitting(samples, tokens, part, stage, "samples")
        ]

    def measure(play: Play) -> Mapping[str, float]:
        return accuracy(play(held)) if held else {}

    return reinforce(run, "rl", tasks, runner=runner, measure=measure)


def accuracy(records: Sequence[RolloutRecord]) -> dict[str, float]:
    """The shares of exact and of well-formed predictions. A server that failed made no wrong one."""
    told = [record.reward_parts for record in records if record.reward is not None]
    return {name: sum(one[name] for one in told) / len(told) for name in ("exact", "form") if told}


_RULE = PredictionReward()


async def _exactness(sample: PredictionSample, text: str) -> Reward:
    return _RULE.rule(sample, text)


def _fitting(
    samples: Sequence[PredictionSample],
    tokens: TurnTokens,
    part: Gspo,
    stage: StageFolder,
    what: str,
) -> list[PredictionSample]:
    """Those whose prompt leaves room for an answer."""
    most = part.rollouts.max_rollout_tokens
    lengths = [len(tokens.opening_ids(Opening(messages=one.messages))) for one in samples]
    fitting = [one for one, length in zip(samples, lengths, strict=True) if length < most]
    if len(fitting) < len(samples):
        stage.say(
            f"{len(samples) - len(fitting)} of {len(samples)} {what} left out: the longest prompt has"
            f" {max(lengths)} tokens and rollouts.max_rollout_tokens is {most}"
        )
    return fitting


def _spread(samples: list[PredictionSample], most: int) -> list[PredictionSample]:
    """At most so many, from everywhere in the list."""
    count = min(most, len(samples))
    return [samples[index * len(samples) // count] for index in range(count)]


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
