import asyncio
import pickle

from agentworld_sim import Episode, Scenario, ToolCall, WorldSpec

spec = WorldSpec(scenario=Scenario.load("failing-test"), model=False)
script = [
    "cat src/csv.sh",
    "sed -i 's/read -r record;/read -r record || [ -n \"$record\" ];/' src/csv.sh",
]


async def play(spec: WorldSpec) -> None:
    episode = Episode(spec, max_steps=30)
    step = await episode.reset(seed=1)
    for command in script:
        step = await episode.step(ToolCall("bash", {"command": command}))
        print(step.steps, "done" if step.done else "goes on")
    print(step.reward)
    await episode.close()


asyncio.run(play(pickle.loads(pickle.dumps(spec))))  # as in a worker of another process
