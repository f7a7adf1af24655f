import asyncio

from openai import AsyncOpenAI

from agentworld_sim import Scenario, World, bind
from agentworld_sim.binding import openai_answers, openai_tools


async def main(client: AsyncOpenAI) -> None:
    async with await World.create(Scenario.load("failing-test")) as world:
        bound = bind(world)
        messages = [{"role": "user", "content": "Make `make test` pass."}]
        while messages[-1]["role"] != "assistant":
            reply = await client.chat.completions.create(
                model="gpt-5", messages=messages, tools=openai_tools(bound)
            )
            message = reply.choices[0].message
            messages.append(message.to_dict())
            messages += await openai_answers(bound, message.tool_calls)
        print(message.content, await world.patch())


asyncio.run(main(AsyncOpenAI()))
