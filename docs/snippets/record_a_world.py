import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.cassette import CassetteSession
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer


async def play(cassette: Path, model: WorldModel | None) -> str:
    session = CassetteSession(cassette, "once")
    async with await World.create(model=session.model(model) or False) as world:
        world.add_tools([ToolSpec(name="weather")])
        turn = await world.step(ToolCall("weather"))
        await session.watch(world)
    session.finish(passed=True)
    return f"{turn.observation.provenance}: {turn.observation.text}"


with TemporaryDirectory() as folder:
    cassette = Path(folder) / "weather.yaml"
    with ScriptedModelServer(["Sun."]) as server:
        print(asyncio.run(play(cassette, WorldModel(ModelSettings(url=server.url)))))
    # Nobody is there to be asked any more.
    print(asyncio.run(play(cassette, None)))
