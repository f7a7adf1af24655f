import asyncio

from agentworld_sim import Scenario, ToolCall, World
from agentworld_sim.toolkits import toolkit


async def main() -> None:
    world = await World.create(Scenario.parse("{name: forum, domains: [web], sites: [forum]}"))
    world.add_tools(toolkit("browsergym"))
    for action in ("goto('http://forum.test/forums')", "fill('17', 'lamp') press('17', 'Enter')"):
        turn = await world.step(ToolCall("browsergym_step", {"action": action}))
        obs = turn.observation.structured
        print(obs["url"], obs["last_action_error"] or "ok", obs["axtree_txt"].count("\n"))


asyncio.run(main())
