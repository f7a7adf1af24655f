import asyncio

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from agentworld_graphs.ready import Agent, rehearse


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    raise AssertionError("it is not allowed to run for real")


# Your model goes here as chat_model=…; this agent says what it is told to.
agent = Agent(
    tools=[bash],
    scenario="nginx-logs",
    script=[
        AIMessage(
            "",
            tool_calls=[
                {"name": "bash", "args": {"command": "rm /var/log/nginx/error.log"}, "id": "1"}
            ],
        ),
        AIMessage("Then I leave it."),
    ],
)
graph = rehearse.build(agent)


async def main() -> None:
    # A server brings checkpoints along; here we do.
    served = graph.copy({"checkpointer": InMemorySaver()})
    thread = {"configurable": {"thread_id": "1"}}
    state = await served.ainvoke({"messages": [("user", "Free some space.")]}, thread)
    question = state["__interrupt__"][0].value
    print(question["question"], question["deleted"])
    # Command(resume=question["to_approve"]) would let it happen, in the world.
    state = await served.ainvoke(Command(resume={"refuse": "we need the logs"}), thread)
    for message in state["messages"]:
        message.pretty_print()


asyncio.run(main())
