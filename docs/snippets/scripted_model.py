import asyncio

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.errors import ModelUnavailable
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import (
    Disconnect,
    ErrorReply,
    Gate,
    ModelRequest,
    ScriptedModelServer,
    ScriptedReply,
)

CALL = ToolCall("weather", {"city": "Oslo"})


async def world_with(server: ScriptedModelServer, *, retries: int = 1) -> World:
    model = WorldModel(ModelSettings(url=server.url, retries=retries))
    world = await World.create(model=model)
    world.add_tools([ToolSpec(name="weather")])
    return world


async def in_order() -> None:
    script = ["Rain.", ErrorReply(503), ScriptedReply.observation("Sun.", thinking="It clears up.")]
    async with ScriptedModelServer(script) as server, await world_with(server) as world:
        first, second = await world.step(CALL), await world.step(CALL)
        print(first.observation.text, second.observation.text, second.exchanges[0].thinking)
        # The 503 was tried again, so three requests came for two turns.
        print(len(server.requests), server.requests[-1].cached_tokens > 0)


async def from_a_function() -> None:
    def weather(request: ModelRequest) -> str:
        return "Snow." if '"Oslo"' in request.last_user else "Sun."

    async with ScriptedModelServer(weather) as server, await world_with(server) as world:
        print((await world.step(CALL)).observation.text)


async def when_it_dies() -> None:
    script = [Disconnect(after_chunks=2)]
    async with ScriptedModelServer(script) as server, await world_with(server, retries=0) as world:
        try:
            await world.step(CALL)
        except ModelUnavailable:
            print("raised;", len(await world.trajectory()), "turns")


async def while_it_answers() -> None:
    gate = Gate()
    reply = ScriptedReply("Fog.", gate=gate)
    async with ScriptedModelServer([reply]) as server, await world_with(server) as world:
        step = asyncio.create_task(world.step(CALL))
        # No sleep: it is certain that the request has come and that nothing was answered.
        await asyncio.to_thread(server.wait_for, requests=1)
        print(server.running, "request under way")
        gate.open()
        print((await step).observation.text)


async def main() -> None:
    await in_order()
    await from_a_function()
    await when_it_dies()
    await while_it_answers()


asyncio.run(main())
