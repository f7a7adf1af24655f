import asyncio
from typing import Any

from pydantic_ai import Agent, Tool

from agentworld_sim import BoundTool, Scenario, World, bind


def as_tool(tool: BoundTool) -> Tool[None]:
    async def call(**arguments: Any) -> str:
        return await tool(arguments)

    schema = dict(tool.spec.input_schema)
    return Tool.from_schema(call, tool.spec.name, tool.spec.description, schema)


async def main() -> None:
    async with await World.create(Scenario.load("failing-test")) as world:
        agent = Agent("openai-chat:gpt-5", tools=[as_tool(tool) for tool in bind(world)])
        result = await agent.run("Make `make test` pass.")
        print(result.output, await world.patch())


asyncio.run(main())
