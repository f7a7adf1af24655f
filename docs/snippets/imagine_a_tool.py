import asyncio

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply

TRACK = ToolSpec(
    name="track_parcel",
    description="Where a parcel is.",
    input_schema={
        "type": "object",
        "properties": {"number": {"type": "string"}},
        "required": ["number"],
    },
)


async def main(url: str) -> None:
    async with await World.create(model=url) as world:
        world.add_tools([TRACK])
        turn = await world.step(ToolCall("track_parcel", {"number": "7"}))
        print(turn.observation.text, turn.observation.provenance)
        for exchange in turn.exchanges:
            print(exchange.thinking, exchange.usage)
        for verdict in turn.checks:
            print(verdict.check, verdict.accepted)


# Your model's URL goes here. This server says what it is told to.
reply = ScriptedReply.observation("In Utrecht, arrives tomorrow.", thinking="A parcel on its way.")
with ScriptedModelServer([reply]) as server:
    asyncio.run(main(server.url))
