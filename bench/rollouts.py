"""Rollouts: how much of the ideal many episodes at a time reach, and what a step of a world costs in one.

Needs the training environment: `.venv-train/bin/python -m bench.rollouts`. The
alternative is TRL's `environment_factory`, which is given the same scripted turns and the same tool. It
runs the tools of a batch one after another, so it is given fewer episodes.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from agentworld_sim import FunctionEngine, Scenario, ToolCall, ToolSpec, World
from agentworld_trainers.rollouts import (
    Completion,
    EpisodeRecord,
    RolloutEngine,
    RolloutSettings,
    Task,
    TurnTokens,
    WorldTask,
)
from agentworld_trainers.rollouts._hermes import write_call
from bench._rows import Row, run

THINKS = 0.5
"""Seconds that the slow world takes for an answer."""

EPISODES = 128
IN_FLIGHT = 64
CALLS = 4
"""Of each episode, in turns of their own."""

TRL_EPISODES = 8
TRL_CALLS = 2

STEPS_TARGET = 3000
GOALS = [{"file": "/srv/out.txt", "contains": "5"}]
SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
TOOL = ToolSpec(name="run", description="Runs a command.", input_schema=SCHEMA)

LOOKS = [
    *("cat /srv/a1.txt", "wc -l /srv/a2.txt", "grep -n 3 /srv/a3.txt"),
    *("head -n 2 /srv/a4.txt", "tail -n 1 /srv/a5.txt", "cat /srv/a6.txt", "ls /srv"),
]
"""Commands that look, as most of an agent's do."""

WORKS = [*LOOKS[1:], "wc -l < /srv/a1.txt > /srv/out.txt"]
"""The same with one that writes."""


def rows() -> list[Row]:
    """All figures about rollouts."""
    tokenizer = _tokenizer()
    slow = run(_slow_world(tokenizer))
    rate = EPISODES * CALLS / (EPISODES / IN_FLIGHT * CALLS * THINKS) * slow[0].ours / 100
    beside = Row(
        f"steps per second in a world that takes {THINKS} s for each",
        rate,
        unit="steps/s",
        alternative=f"TRL's environment_factory, {TRL_EPISODES} episodes",
        theirs=_trl(tokenizer),
    )
    return [*slow, beside, *run(_steps(tokenizer))]


def _call(command: str) -> str:
    return write_call(ToolCall("run", {"command": command}))


async def _slow_world(tokenizer: Any) -> list[Row]:
    async def think(arguments: Any, values: Any) -> str:
        await asyncio.sleep(THINKS)
        return "done"

    scenario = Scenario.model_validate(
        {"name": "slow", "domains": ["terminal"], "instruction": "Go.", "goals": GOALS}
    )
    slow = FunctionEngine({"run": think}, domain="terminal")
    async with await World.create(scenario, engines=[slow]) as world:
        world.add_tools([TOOL])
        group = 8
        tasks = [WorldTask.at(world, name=f"slow-{n}") for n in range(EPISODES // group)]
        turns = [*[_call("think")] * CALLS, "Done."]
        _, seconds = await _played(tokenizer, tasks, turns, group)
    ideal = EPISODES / IN_FLIGHT * CALLS * THINKS
    share = 100 * ideal / seconds
    name = f"{IN_FLIGHT} of {EPISODES} episodes in flight, {CALLS} steps of {THINKS} s each"
    return [Row(name, share, unit="% of the ideal", target="at least 90 %", met=share >= 90)]


async def _steps(tokenizer: Any) -> list[Row]:
    """Steps of the embedded engine per second of processor time, forks and goals included."""
    files = {f"/srv/a{n}.txt": "1\n2\n3\n4\n5\n" for n in range(10)}
    found: list[Row] = []
    for name, commands, repeats in (
        ("episodes of 63 steps that look", LOOKS, 9),
        ("episodes of 7 steps, one of which writes", WORKS, 1),
    ):
        scenario = Scenario.model_validate(
            {
                "name": "quick",
                "domains": ["terminal"],
                "instruction": "Go.",
                "goals": GOALS,
                "files": files,
                "tools": [{"name": "run", "input_schema": SCHEMA, "binds_to": "shell/run"}],
            }
        )
        tasks = [WorldTask(scenario, name=f"quick-{n}") for n in range(8)]
        turns = [*[_call(command) for command in commands] * repeats, "Done."]
        await _played(tokenizer, tasks[:1], turns, 8)
        began = time.process_time()
        records, _ = await _played(tokenizer, tasks, turns, 8)
        seconds = time.process_time() - began
        rate = sum(record.env_metrics["steps"] for record in records) / seconds
        goal = repeats > 1
        found.append(
            Row(
                f"steps per second of a core in the rollout engine, {name}",
                rate,
                unit="steps/s",
                target=f"at least {STEPS_TARGET:,}" if goal else "",
                met=rate >= STEPS_TARGET if goal else None,
            )
        )
    return found


async def _played(
    tokenizer: Any, tasks: Sequence[Task], turns: list[str], group_size: int
) -> tuple[list[EpisodeRecord], float]:
    """The records, and the seconds it took."""
    settings = RolloutSettings(
        max_turns=len(turns), max_episode_tokens=1_000_000, in_flight=IN_FLIGHT
    )
    engine = RolloutEngine(_Reciting(tokenizer, turns), tokenizer, settings)
    began = time.perf_counter()
    records = await engine.run(tasks, group_size=group_size, seed=1)
    return records, time.perf_counter() - began


class _Reciting:
    """Implements `Policy`: the tokens of each turn are made beforehand, so that it takes no time."""

    def __init__(self, tokenizer: Any, turns: Sequence[str]) -> None:
        self._end = TurnTokens(tokenizer).stop_ids[0]
        self._turns = [
            (*tokenizer.encode(turn, add_special_tokens=False), self._end) for turn in turns
        ]
        self._known: dict[int, int] = {}

    async def complete(
        self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int
    ) -> Completion:
        turn = self._known.get(len(prompt_ids))
        if turn is None:
            # Of the system, the user, and then for each turn the policy and the tools.
            turn = self._known[len(prompt_ids)] = (prompt_ids.count(self._end) - 2) // 2
        ids = self._turns[turn]
        return Completion(token_ids=ids, logprobs=(0.0,) * len(ids), finish="stop")


def _trl(tokenizer: Any) -> float:
    """Steps per second in TRL's own loop, which the same turns are given to."""
    import torch
    from datasets import Dataset
    from transformers import Qwen3Config, Qwen3ForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    calls: list[float] = []
    turns = [*[_call("think")] * TRL_CALLS, "Done."]
    said = [
        [*tokenizer.encode(turn, add_special_tokens=False), tokenizer.eos_token_id]
        for turn in turns
    ]

    class Machine:
        def reset(self, **fields: Any) -> None:
            """Begins an episode."""

        def run(self, command: str) -> str:
            """
            Runs a command.

            Args:
                command: What to run.
            """
            calls.append(time.perf_counter())
            time.sleep(THINKS)
            return "done"

    class Reciting(GRPOTrainer):
        seconds = 0.0
        turn = 0

        def _generate(self, prompts: list[Any]) -> Any:
            began = time.perf_counter()
            found = super()._generate(prompts)
            type(self).seconds = time.perf_counter() - began
            return found

        def _generate_single_turn(self, prompt_ids: list[Any], *more: Any, **others: Any) -> Any:
            ids = said[self.turn]
            self.turn += 1
            return [list(ids) for _ in prompt_ids], None

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "head_dim": 8}
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer), num_attention_heads=4, num_key_value_heads=2, **shape
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = Reciting(
            model=model,
            args=GRPOConfig(
                output_dir=folder,
                per_device_train_batch_size=TRL_EPISODES,
                num_generations=TRL_EPISODES,
                max_completion_length=4096,
                max_steps=1,
                use_cpu=True,
                bf16=False,
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(
                [{"prompt": [{"role": "user", "content": "Go."}]}] * TRL_EPISODES
            ),
            reward_funcs=lambda completions, **_: [float(n) for n in range(len(completions))],
            processing_class=tokenizer,
            environment_factory=Machine,
        )
        trainer.train()
    if len(calls) != TRL_EPISODES * TRL_CALLS:
        raise RuntimeError(f"TRL made {len(calls)} calls, not {TRL_EPISODES * TRL_CALLS}")
    return len(calls) / Reciting.seconds


def _tokenizer() -> Any:
    """Qwen3's chat template over a tokenizer made on the spot."""
    from tests.trainers.rollouts.tokenizers import tokenizer

    return tokenizer()


if __name__ == "__main__":
    for row in rows():
        beside = "" if row.theirs is None else f"; {row.alternative}: {row.theirs:.3g}"
        met = {True: "met", False: "NOT met", None: "no target"}[row.met]
        print(f"{row.name}: {row.ours:.4g} {row.unit}{beside} ({row.target or '-'}: {met})")
