import asyncio

from langchain_core.tools import tool

from agentworld_graphs import simulate
from agentworld_sim import Scenario, World


@tool
def run_anything(command: str) -> str:
    """Run a command."""
    raise AssertionError("the real tool is never called")


async def main() -> None:
    async with await World.create(Scenario.load("nginx-logs")) as world:
        # Its name binds to nothing by itself, so say what it is.
        simulated = simulate(run_anything, world, binds_to="terminal/bash")
        print(await simulated.ainvoke({"command": "tail -n 1 /var/log/nginx/error.log"}))


asyncio.run(main())
