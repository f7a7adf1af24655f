import asyncio

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.goals import check_goals


async def main() -> None:
    async with await World.create(Scenario.load("failing-test")) as world:
        turn = await world.step(ToolCall("bash", {"command": "make test | tail -n 1"}))
        print(turn.observation.text, turn.observation.provenance)

        # A fork is a world of its own. Nothing is copied.
        fork = await world.fork()
        fix = 's/read -r record;/read -r record || [ -n "$record" ];/'
        await fork.step(ToolCall("bash", {"command": f"sed -i '{fix}' src/csv.sh"}))
        print(await fork.patch())
        print([goal.met for goal in await check_goals(fork)])
        print([goal.met for goal in await check_goals(world)])

        # Any point of the history can be gone back to.
        again = await world.step(ToolCall("bash", {"command": "ls"}), at=world.root)
        print(again.observation.text)


asyncio.run(main())
