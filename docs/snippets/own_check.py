import asyncio
from typing import Literal

from agentworld_sim import ToolCall, ToolSpec, World
from agentworld_sim.checks import DEFAULT_CHECKS, CheckInput
from agentworld_sim.llm.scripted import ScriptedModelServer


class PricesInEuro:
    """No price is given in another currency."""

    name = "prices-in-euro"
    scope: Literal["imagined"] = "imagined"

    def judge(self, given: CheckInput) -> str | None:
        # The reason is what the model is told when it is asked again.
        return "prices are in euro here" if "$" in given.observation.text else None


async def main(url: str) -> None:
    checks = (*DEFAULT_CHECKS, PricesInEuro())
    async with await World.create(model=url, checks=checks) as world:
        world.add_tools([ToolSpec(name="price")])
        turn = await world.step(ToolCall("price", {"article": "kettle"}))
        print(turn.observation.text)
        for verdict in turn.checks:
            if verdict.check == PricesInEuro.name:
                print(verdict.attempt, verdict.accepted, verdict.reason)


with ScriptedModelServer(["29 $", "27 €"]) as server:
    asyncio.run(main(server.url))
    print(server.requests[1].last_user)
