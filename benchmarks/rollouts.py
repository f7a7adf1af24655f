"""Rollouts: how much of the ideal many rollouts at a time reach, and what a step of a world costs in one.

Needs the training environment: `.venv-train/bin/python -m benchmarks.rollouts`. The
alternative is TRL's `environment_factory`, which is given the same scripted turns and the same tool. It
runs the tools of a batch one after another, so it is given fewer rollouts.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Sequence
from typing import Any

from agentworld_sim import FunctionEngine, Scenario, ToolCall, ToolSpec, World
from agentworld_sim.rollouts import (
    Completion,
    RolloutEngine,
    RolloutRecord,
    RolloutSettings,
    Task,
    TurnTokens,
    WorldTask,
    write_call,
)
from benchmarks._rows import Row, run

THINKS = 0.5
"""Seconds that the slow world takes for an answer."""

ROLLOUTS = 128
IN_FLIGHT = 64
CALLS = 4
"""Of each rollout, in turns of their own."""

TRL_ROLLOUTS = 8
TRL_CALLS = 2

STEPS_TARGET = 3000
GOALS = [{"file": "/srv/out.txt", "contains": "5"}]
SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
TOOL = ToolSpec(name="run", description="Runs a command.", input_schema=SCHEMA)

FILES = 9
LOOKS = (
    *("cat {}", "wc -l {}", "grep -n 3 {}", "head -n 2 {}", "tail -n 1 {}"),
    *("wc {}", "ls {}"),
)
"""Commands that look, as most of an agent's do; each is asked about each file."""

GROUP = 16
GROUPS = 12
"""Each is measured, and the fastest counts: what else runs on a machine takes from its caches, and so shows
in processor time too."""


def rows() -> list[Row]:
    """All figures about rollouts."""
    tokenizer = _tokenizer()
    slow = run(_slow_world(tokenizer))
    rate = ROLLOUTS * CALLS / (ROLLOUTS / IN_FLIGHT * CALLS * THINKS) * slow[0].ours / 100
    beside = Row(
        f"steps per second in a world that takes {THINKS} s for each",
        rate,
        unit="steps/s",
        alternative=f"TRL's environment_factory, {TRL_ROLLOUTS} rollouts",
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
        tasks = [WorldTask.at(world, name=f"slow-{n}") for n in range(ROLLOUTS // group)]
        turns = [*[_call("think")] * CALLS, "Done."]
        _, seconds = await _played(tokenizer, tasks, turns, group)
    ideal = ROLLOUTS / IN_FLIGHT * CALLS * THINKS
    share = 100 * ideal / seconds
    name = f"{IN_FLIGHT} of {ROLLOUTS} rollouts in flight, {CALLS} steps of {THINKS} s each"
    return [Row(name, share, unit="% of the ideal", target="at least 90 %", met=share >= 90)]


async def _steps(tokenizer: Any) -> list[Row]:
    """Steps of the embedded engine, in processor time of all threads.

    A step is one tool call of a rollout: parsed from the tokens that the policy sampled, checked,
    answered, committed to the world's history, and rendered into the tokens of the next prompt. The
    policy's own time is none, its turns are tokens made beforehand. Counted with the steps is all that a
    rollout takes beside them: the fork, its machine, the goals, the record. No command of a rollout is
    asked twice, every group has texts of its own, and the rollouts of a group are told the same. One group
    more is played before, to warm up.
    """
    looks = [look.format(f"/srv/a{n}.txt") for n in range(FILES) for look in LOOKS]
    works = [*looks[1:7], "wc -l < /srv/a1.txt > /srv/out.txt"]
    long, short = await _rollout_ms(tokenizer, looks), await _rollout_ms(tokenizer, looks[:7])
    working = await _rollout_ms(tokenizer, works)
    step = (long - short) / (len(looks) - 7)
    rate = 1000 * len(looks) / long
    many = f"steps per second of a core in the rollout engine, best of {GROUPS} groups of {GROUP}, rollouts of"
    return [
        Row(
            f"{many} {len(looks)} different commands that look",
            rate,
            unit="steps/s",
            target=f"at least {STEPS_TARGET:,}",
            met=rate >= STEPS_TARGET,
        ),
        Row(f"{many} 7 that look", 7000 / short, unit="steps/s"),
        Row(f"{many} 7, one of which writes", 7000 / working, unit="steps/s"),
        Row("where it goes: one more step that looks, in a rollout", step),
        Row("where it goes: the same step in the world alone", await _step_ms(looks)),
        Row("where it goes: a rollout beside its steps (a machine, a fork)", short - 7 * step),
    ]


def _scenario(number: int) -> Scenario:
    lines = "".join(f"{number} {line}\n" for line in range(1, 6))
    return Scenario.model_validate(
        {
            "name": f"quick-{number}",
            "domains": ["terminal"],
            "instruction": f"Go {number}.",
            "goals": GOALS,
            "files": {f"/srv/a{n}.txt": f"{n}\n{lines}" for n in range(FILES)},
            "tools": [{"name": "run", "input_schema": SCHEMA, "binds_to": "shell/run"}],
        }
    )


async def _rollout_ms(tokenizer: Any, commands: list[str]) -> float:
    """Processor time of a rollout."""
    turns = [*map(_call, commands), "Done."]
    taken: list[float] = []
    for number in range(1 + GROUPS):
        began = time.process_time()
        records, _ = await _played(tokenizer, [WorldTask(_scenario(number))], turns, GROUP)
        taken.append(time.process_time() - began)
        steps = sum(record.env_metrics["steps"] for record in records)
        if steps != GROUP * len(commands):
            raise RuntimeError(f"{steps} steps were made, not {GROUP * len(commands)}")
    return 1000 * min(taken[1:]) / GROUP


async def _step_ms(commands: list[str]) -> float:
    """Processor time of a step in one world, without a rollout."""
    taken: list[float] = []
    async with await World.create(_scenario(0), model=False) as world:
        for _ in range(1 + GROUPS):
            began = time.process_time()
            for command in commands:
                await world.step(ToolCall("run", {"command": command}))
            taken.append(time.process_time() - began)
    return 1000 * min(taken[1:]) / len(commands)


async def _played(
    tokenizer: Any, tasks: Sequence[Task], turns: list[str], group_size: int
) -> tuple[list[RolloutRecord], float]:
    """The records, and the seconds it took."""
    settings = RolloutSettings(
        max_turns=len(turns), max_rollout_tokens=1_000_000, in_flight=IN_FLIGHT
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
            """Begins a rollout."""

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
                per_device_train_batch_size=TRL_ROLLOUTS,
                num_generations=TRL_ROLLOUTS,
                max_completion_length=4096,
                max_steps=1,
                use_cpu=True,
                bf16=False,
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(
                [{"prompt": [{"role": "user", "content": "Go."}]}] * TRL_ROLLOUTS
            ),
            reward_funcs=lambda completions, **_: [float(n) for n in range(len(completions))],
            processing_class=tokenizer,
            environment_factory=Machine,
        )
        trainer.train()
    if len(calls) != TRL_ROLLOUTS * TRL_CALLS:
        raise RuntimeError(f"TRL made {len(calls)} calls, not {TRL_ROLLOUTS * TRL_CALLS}")
    return len(calls) / Reciting.seconds


def _tokenizer() -> Any:
    """Qwen3's chat template over a tokenizer made on the spot."""
    from tests.trainers.policies.tokenizers import tokenizer

    return tokenizer()


if __name__ == "__main__":
    for row in rows():
        beside = "" if row.theirs is None else f"; {row.alternative}: {row.theirs:.3g}"
        met = {True: "met", False: "NOT met", None: "no target"}[row.met]
        print(f"{row.name}: {row.ours:.4g} {row.unit}{beside} ({row.target or '-'}: {met})")
