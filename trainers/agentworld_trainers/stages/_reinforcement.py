"""Reinforcement learning of one stage: `rl` and `agent` differ in their tasks, and in nothing else. [torch]

Rollouts are played by the model that is trained, in this process, or by a server that has its weights.
They are kept in `rollouts/step-N.jsonl`, N being the optimiser step whose weights played.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import torch
from transformers import TrainerCallback, TrainerState, set_seed

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import (
    ChatTokenizer,
    HttpPolicy,
    HttpPolicySettings,
    RolloutEngine,
    RolloutFailed,
    RolloutLog,
    RolloutRecord,
    RolloutSettings,
    Task,
    TurnTokens,
    seed_of,
    verify_policy,
)
from agentworld_trainers.gspo_trainer import GspoConfig, GspoTrainer, gspo_config
from agentworld_trainers.in_process_policy import InProcessPolicy
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.recipes.schema import Gspo, Rollouts
from agentworld_trainers.stages._checkpoints import last_checkpoint, whole_folder
from agentworld_trainers.stages._models import load, lora_config, without_bars
from agentworld_trainers.stages._processes import threads, verify_processes
from agentworld_trainers.stages._run import Run, StageFolder
from agentworld_trainers.stages._training import save_result, train
from agentworld_trainers.user_functions import function_at, running

MakeTasks = Callable[[TurnTokens, StageFolder], Sequence[Task]]
"""Makes the tasks of a stage, each with a name of its own. Is given how prompts become tokens, and the
stage's folder, for what must be the same when it is taken up again (`StageFolder.hold`)."""

Play = Callable[..., list[RolloutRecord]]
"""Plays one rollout of each task with the weights as they are: `play(tasks, temperature=0.0)`; 0
takes the most probable token always."""

Measure = Callable[[Play], Mapping[str, float]]
"""Measures a policy on tasks that it is not trained on."""

HELD_OUT = "held_out/"
"""Begins the names of what is measured before the first step and after the last."""

DRIFT = 0.15
"""How far a served policy's log-probabilities may be from the trainer's, in nats, on the mean over a prompt.
Equal weights in bfloat16 and float32 were 0.03 to 0.08 apart (a trained pocket agent with 8 experts, prompts
of some 50 tokens, single tokens up to 1.5); weights before and after its training 0.47 to 0.75."""


def reinforce(
    run: Run,
    name: Literal["rl", "agent"],
    make_tasks: MakeTasks,
    *,
    runner: asyncio.Runner,
    measure: Measure | None = None,
    measure_every: int | None = None,
) -> Path:
    """Trains a stage with GSPO from its beginning, or on from its last checkpoint, to its end.

    Args:
        runner: Plays; one event loop for all, so that connections stay open.
        measure: Is asked before the first step and after the last.
        measure_every: And after every so many steps between.

    Returns:
        The folder of the finished model.

    Raises:
        UsageError: the recipe has no such stage, or its parts do not fit each other.
        WorldFailure: a server is down, the disk is full, or the loss is no number. The last checkpoint is
            good, and calling this again goes on from there.
    """
    part = part_of(run, name)
    verify_processes(name, gpus=torch.cuda.device_count(), policy=part.rollouts.policy)
    with run.stage(name) as stage, threads(part.threads):
        if stage.is_finished():
            return stage.final
        model, tokenizer = load(run, name)
        tokens = TurnTokens(cast("ChatTokenizer", tokenizer), {"enable_thinking": part.thinking})
        tasks = _by_name(make_tasks(tokens, stage))
        rollouts = _Rollouts(run.recipe.seed, stage, part, tasks, tokens, runner)
        last = stage.resume()
        # The adapters' first weights, if there are any, are drawn when the trainer is made.
        set_seed(run.recipe.seed)
        trainer = GspoTrainer(
            model,
            tokenizer,
            _config(run.recipe, part, stage.folder),
            list(tasks),
            rollouts.collect,
            peft_config=lora_config(run.recipe),
        )
        rollouts.trainer = trainer
        if measure is not None and not any(line["step"] == 0 for line in stage.metrics()):
            _measure(stage, measure, rollouts, 0)
        if measure is not None and measure_every:
            again = functools.partial(_measure, stage, measure, rollouts)
            trainer.add_callback(_Between(again, measure_every))
        train(trainer, stage, last)
        if measure is not None:
            _measure(stage, measure, rollouts, part.steps)
        return save_result(trainer, tokenizer, stage)


def _config(recipe: Recipe, part: Gspo, folder: Path) -> GspoConfig:
    return gspo_config(
        part,
        folder,
        seed=recipe.seed,
        bf16=recipe.model.dtype == "bfloat16",
        # Without saying so, transformers takes bfloat16 on GPUs only.
        use_cpu=not torch.cuda.is_available(),
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def _measure(stage: StageFolder, measure: Measure, rollouts: _Rollouts, step: int) -> None:
    found = measure(rollouts.play)
    stage.log(step, {HELD_OUT + name: value for name, value in found.items()})


class _Between(TrainerCallback):
    """Measures now and then while training goes on."""

    def __init__(self, measured: Callable[[int], None], every: int) -> None:
        self._measured, self._every = measured, every

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        if state.global_step % self._every == 0 and state.global_step < state.max_steps:
            self._measured(state.global_step)


def rollout_settings(
    part: Rollouts, *, template: Mapping[str, Any] | None = None
) -> RolloutSettings:
    """The settings that a recipe gives.

    Args:
        part: The table `rollouts` of a stage.
        template: Variables of the chat template.
    """
    return RolloutSettings(
        max_turns=part.max_turns,
        max_turn_tokens=part.max_turn_tokens,
        max_rollout_tokens=part.max_rollout_tokens,
        in_flight=part.in_flight,
        rollout_seconds=part.rollout_seconds,
        heartbeat_seconds=part.heartbeat_seconds,
        template=template or {},
    )


def part_of(run: Run, name: Literal["rl", "agent"]) -> Gspo:
    """The stage's table of the recipe.

    Raises:
        UsageError: it has none.
    """
    part = run.recipe.rl if name == "rl" else run.recipe.agent
    if part is None:
        raise UsageError(
            f"the recipe {run.recipe.name!r} has no table [{name}], so there is nothing to do."
        )
    return part


def _by_name(tasks: Sequence[Task]) -> dict[str, Task]:
    found = {task.name: task for task in tasks}
    if not found:
        raise UsageError("there is not one task to train on.")
    if len(found) < len(tasks):
        raise UsageError(f"{len(tasks) - len(found)} tasks have the name of another one.")
    return found


class _Rollouts:
    """Plays rollouts: by chance for the trainer, without for measurements."""

    trainer: GspoTrainer
    """Has the model that plays; given when it is made, because it is made with `collect`."""

    def __init__(
        self,
        seed: int,
        stage: StageFolder,
        part: Gspo,
        tasks: Mapping[str, Task],
        tokens: TurnTokens,
        runner: asyncio.Runner,
    ) -> None:
        self._seed, self._stage, self._part = seed, stage, part
        self._tasks, self._tokens, self._runner = tasks, tokens, runner
        self._process = int(os.environ.get("RANK", "0"))
        self._served: int | None = None
        """The step whose weights were brought to a server last."""
        if part.rollouts.policy == "http":
            # What is wrong with these settings is told before anything is played.
            self._http(part.rollouts.temperature, trains=True)

    @property
    def model(self) -> Any:
        """What plays, with the weights of the moment."""
        return self.trainer.model

    def collect(self, names: list[str], step: int) -> list[RolloutRecord]:
        """Implements `Collect`."""
        part = f".{self._process}" if self._process else ""
        path = self._stage.folder / "rollouts" / f"step-{step:06}{part}.jsonl"
        # It is there when the step is played again after a kill: the same rollouts.
        path.unlink(missing_ok=True)
        size = self._part.group_size
        seed = seed_of(self._seed, step, self._process)
        tasks = [self._tasks[name] for name in names[::size]]
        temperature = self._part.rollouts.temperature
        with RolloutLog(path) as log:
            playing = self._play(tasks, size, seed, step, temperature, log.write)
            try:
                return self._runner.run(playing)
            except RolloutFailed as failure:
                last = last_checkpoint(self._stage.folder)
                kept = (
                    f"The last good state is {str(last)!r}." if last else "No step was saved yet."
                )
                failure.args = (f"{failure} {kept}",)
                raise

    def play(self, tasks: Sequence[Task], temperature: float = 0.0) -> list[RolloutRecord]:
        """Implements `Play`."""
        step = self.trainer.state.global_step
        return self._runner.run(self._play(tasks, 1, self._seed, step, temperature))

    async def _play(
        self,
        tasks: Sequence[Task],
        group_size: int,
        seed: int,
        step: int,
        temperature: float,
        on_rollout: Callable[[RolloutRecord], None] | None = None,
    ) -> list[RolloutRecord]:
        policy = self._policy(temperature, trains=on_rollout is not None)
        settings = rollout_settings(
            self._part.rollouts, template={"enable_thinking": self._part.thinking}
        )
        engine = RolloutEngine(policy, self._tokens.tokenizer, settings)
        try:
            if isinstance(policy, HttpPolicy):
                await self._bring(step)
                await self._verify(policy)
            return await engine.run(
                tasks,
                group_size=group_size,
                seed=seed,
                policy_version=step,
                on_rollout=on_rollout,
            )
        finally:
            if isinstance(policy, HttpPolicy):
                await policy.close()

    def _policy(self, temperature: float, *, trains: bool) -> InProcessPolicy | HttpPolicy:
        if self._part.rollouts.policy == "in-process":
            stops = self._tokens.stop_ids
            return InProcessPolicy(self.model, stop_ids=stops, temperature=temperature)
        return self._http(temperature, trains=trains)

    def _http(self, temperature: float, *, trains: bool) -> HttpPolicy:
        where = self._part.rollouts
        if not where.url:
            raise UsageError(
                "`rollouts.policy` is 'http', and `rollouts.url` does not say where the policy is served."
            )
        settings = HttpPolicySettings(
            url=where.url,
            model=where.model,
            temperature=temperature,
            stop_ids=self._tokens.stop_ids,
            # Nobody is trained on what is measured.
            processed_logprobs=not trains,
            concurrency=where.in_flight,
        )
        return HttpPolicy(settings)

    async def _bring(self, step: int) -> None:
        """Brings the weights of a step to the server, if the recipe says how."""
        where = self._part.rollouts
        if not where.sync or self._served == step:
            return
        function = function_at(where.sync, purpose="sync of weights", arguments=("folder", "url"))
        folder = self._stage.folder / "served"
        with whole_folder(folder) as partial, without_bars():
            self.model.save_pretrained(partial)
        with running(where.sync, "sync of weights"):
            done: Any = function(folder, where.url)
            if inspect.isawaitable(done):
                await done
        self._served = step

    async def _verify(self, policy: HttpPolicy) -> None:
        """Compares the server's weights with the trainer's on the prompt of a task."""
        task = next(iter(self._tasks.values()))
        environment = await task.environment(seed=0)
        try:
            ids = self._tokens.opening_ids(await environment.open())
        finally:
            await environment.close()
            await task.close()
        training = self.model.training
        self.model.eval()
        with torch.no_grad():
            probe = torch.tensor([ids], device=self.model.device)
            logits = self.model(probe).logits[0, :-1].float().log_softmax(-1)
            told = logits.gather(-1, probe[0, 1:, None])[:, 0].tolist()
        self.model.train(training)
        await verify_policy(policy, ids, told, tolerance=DRIFT)
