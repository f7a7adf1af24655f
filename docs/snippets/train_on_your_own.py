import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.rollouts import AgentTasks, WorldTask
from agentworld_sim.scoring import PredictionSample
from agentworld_trainers.data import SourceTrajectory, imagined_tools, samples_of


def scenario(fruit: str) -> Scenario:
    return Scenario.model_validate(
        {
            "name": f"sort-{fruit}",
            "domains": ["swe"],
            "machine": {"workdir": "/srv/app"},
            "tools": ["claude-code"],
            "instruction": f"Sort {fruit}.txt into sorted.txt.",
            "files": {f"/srv/app/{fruit}.txt": f"{fruit} 3\n{fruit} 1\n{fruit} 2\n"},
            "goals": [{"command": f"sort {fruit}.txt | cmp - sorted.txt", "exit_code": 0}],
        }
    )


async def play(fruit: str) -> SourceTrajectory:
    async with await World.create(scenario(fruit), model=False) as world:
        for command in (
            "ls",
            f"wc -l {fruit}.txt",
            f"sort {fruit}.txt > sorted.txt",
            "cat sorted.txt",
        ):
            await world.step(ToolCall("Bash", {"command": command}))
        turns = (await world.trajectory()).turns
        return SourceTrajectory(
            id=fruit,
            task=fruit,
            turns=turns,
            tools=imagined_tools(world.tools, turns),
            before=await world.state(world.root),
            blobs=world.store.blobs,
        )


# data.source = "mine:trajectories"
def trajectories(settings: Mapping[str, Any], seed: int) -> Iterator[SourceTrajectory]:
    for fruit in settings["fruits"]:
        yield asyncio.run(play(fruit))


# rl.reward.function = "mine:reward"
def reward(sample: PredictionSample, text: str) -> float:
    return float(sample.observation in text)


# agent.tasks = "mine:tasks"
def tasks(settings: Mapping[str, Any], seed: int) -> AgentTasks:
    *train, last = [WorldTask(scenario(fruit)) for fruit in settings["fruits"]]
    return AgentTasks(train=train, held_out={"new fruit": [last]})


if __name__ == "__main__":
    given = {"fruits": ["apple", "pear", "plum"]}
    for source in trajectories(given, 0):
        sample = samples_of(source)[-1]
        print(sample.task, sample.turn, sample.observation.splitlines(), reward(sample, "apple 1"))
    print(len(tasks(given, 0).train), "tasks to train on")
