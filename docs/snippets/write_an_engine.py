import asyncio
from dataclasses import replace
from random import Random
from typing import Literal

from agentworld_sim import Observation, ToolCall, ToolSpec, World
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.testing import check_engine
from agentworld_sim.types import Blobs, StateChange, WorldState

SIDES = {"type": "object", "properties": {"sides": {"type": "integer", "minimum": 2}}}
TOOLS = [ToolSpec(name="roll", input_schema=SIDES), ToolSpec(name="rolls")]


class DiceEngine:
    """Rolls dice and remembers how they fell."""

    name = "dice"
    route: Literal["compute"] = "compute"

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        own = f"dice/{tool.name}"
        if tool.name not in ("roll", "rolls") or tool.binds_to not in (None, own):
            return None
        return replace(tool, domain=tool.domain or "mcp", binds_to=own)

    def refusal(self, tool: ToolSpec) -> str:
        return f"There are dice here, and nothing that answers {tool.name!r}."

    async def open(self, state: WorldState, blobs: Blobs) -> "DiceSession":
        return DiceSession()


class DiceSession:
    async def answer(self, context: StepContext) -> Answer:
        call = context.call
        rolls: list[int] = context.state.values.get("dice/rolls", [])
        if call.name == "rolls":
            text = ", ".join(map(str, rolls)) or "none yet"
        else:
            # Chance comes from the turn's seed: the same world rolls the same again.
            rolls = [*rolls, Random(context.seed).randint(1, call.arguments.get("sides", 6))]
            text = str(rolls[-1])
        clock_us = context.state.clock_us + 1_000_000
        change = StateChange(clock_us=clock_us, values={"dice/rolls": rolls})
        return Answer(Observation(text=text), change)

    def close(self) -> None:
        pass


async def main() -> None:
    await check_engine(DiceEngine(), TOOLS, [ToolCall("roll", {"sides": 20}), ToolCall("rolls")])
    async with await World.create(engines=[DiceEngine()], seed=7) as world:
        world.add_tools(TOOLS)
        for _ in range(3):
            await world.step(ToolCall("roll", {"sides": 20}))
        print((await world.step(ToolCall("rolls"))).observation.text)


asyncio.run(main())
