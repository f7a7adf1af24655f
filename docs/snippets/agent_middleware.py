from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs import ScriptedChatModel, SimulatedTools


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    raise AssertionError("the real tool is never called")


# Your model goes here; this one says what it is told to.
call = {
    "name": "bash",
    "args": {"command": "df -h / | tail -n 1; echo tidy > /tmp/plan"},
    "id": "1",
}
model = ScriptedChatModel(script=[AIMessage("", tool_calls=[call]), AIMessage("Done.")])

agent = create_agent(
    model,
    tools=[bash],
    middleware=[TodoListMiddleware(), SimulatedTools()],  # last
)
for message in agent.invoke({"messages": [("user", "Clean up.")]})["messages"]:
    message.pretty_print()
