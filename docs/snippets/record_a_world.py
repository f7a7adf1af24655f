import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.cassette import Taping
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ScriptedModelServer


async def session(cassette: Path, model: WorldModel | None) -> str:
    taping = Taping(cassette, "once")
    async with await World.create(model=taping.model(model) or False) as world:
        world.add_tools([ToolSpec(name="weather")])
        turn = await world.step(ToolCall("weather"))
        await taping.watch(world)
    taping.finish(passed=True)
    return f"{turn.observation.provenance}: {turn.observation.text}"


with TemporaryDirectory() as folder:
    cassette = Path(folder) / "weather.yaml"
    with ScriptedModelServer(["Sun."]) as server:
        print(asyncio.run(session(cassette, WorldModel(ModelSettings(url=server.url)))))
    # Nobody is there to be asked any more.
    print(asyncio.run(session(cassette, None)))
