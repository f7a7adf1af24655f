import asyncio

from agents import Agent, FunctionTool, Runner
from agents.tool_context import ToolContext

from agentworld_sim import BoundTool, Scenario, World, bind


def function_tool(tool: BoundTool) -> FunctionTool:
    async def invoke(context: ToolContext, arguments: str) -> str:
        return await tool(arguments, id=context.tool_call_id)

    about, schema = tool.spec.description, dict(tool.spec.input_schema)
    return FunctionTool(tool.spec.name, about, schema, invoke, strict_json_schema=False)


async def main() -> None:
    async with await World.create(Scenario.load("failing-test")) as world:
        agent = Agent("fixer", tools=[function_tool(tool) for tool in bind(world)], model="gpt-5")
        result = await Runner.run(agent, "Make `make test` pass.")
        print(result.final_output, await world.patch())


asyncio.run(main())
