"""What a user would bring: trajectories, a tokenizer, a reward, tasks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from transformers import PreTrainedTokenizerFast

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.rollouts import AgentTasks, WorldTask
from agentworld_sim.scoring import PredictionSample
from agentworld_trainers.data import SourceTrajectory, imagined_tools
from tests.trainers.stages import tiny


def scenario(number: int) -> Scenario:
    return Scenario.model_validate(
        {
            "name": f"count-{number}",
            "domains": ["swe"],
            "machine": {"workdir": "/data"},
            "tools": ["claude-code"],
            "instruction": f"Remove {number}.txt.",
            "files": {f"/data/{number}.txt": f"{number}\n" * (1 + number)},
            "goals": [{"command": f"test ! -e {number}.txt", "exit_code": 0}],
        }
    )


async def _play(number: int) -> SourceTrajectory:
    async with await World.create(scenario(number), model=False) as world:
        for command in (f"wc -l {number}.txt", f"cat {number}.txt", f"echo {number}{number}"):
            await world.step(ToolCall("Bash", {"command": command}))
        turns = (await world.trajectory()).turns
        return SourceTrajectory(
            id=str(number),
            task=f"task-{number}",
            turns=turns,
            tools=imagined_tools(world.tools, turns),
            before=await world.state(world.root),
            blobs=world.store.blobs,
            thinking={1: "It is counted."},
            split="test" if number == 0 else "train",
        )


def trajectories(settings: Mapping[str, Any], seed: int) -> Iterator[SourceTrajectory]:
    for number in range(settings["count"]):
        yield asyncio.run(_play(number))


def endless(settings: Mapping[str, Any], seed: int) -> Iterator[SourceTrajectory]:
    """Says that it has begun, and gives nothing before its standard input ends."""
    print("begun", flush=True)
    sys.stdin.read()
    yield from ()


def tokenizer(texts: Sequence[str], template: str) -> PreTrainedTokenizerFast:
    assert texts
    return tiny.tokenizer(template)


def reward(sample: PredictionSample, text: str) -> float:
    return float(len(set(text)))


def agent_reward(world: World) -> float:
    return float(len(world.id) > 0)


def tasks(settings: Mapping[str, Any], seed: int) -> AgentTasks:
    first, second, last = (WorldTask(scenario(number)) for number in range(3))
    return AgentTasks(train=(first, second), held_out={"last": (last,)})
