from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs import ScriptedChatModel, simulate_graph
from agentworld_sim import AccessRefused


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    raise AssertionError("the real tool is never called")


@tool
def deploy(version: str) -> str:
    """Deploy a version."""
    raise AssertionError("the real tool is never called")


call = {"name": "bash", "args": {"command": "rm -rf /srv && ls /"}, "id": "1"}
model = ScriptedChatModel(script=[AIMessage("", tool_calls=[call]), AIMessage("Done.")])
# Somebody else's agent, compiled and imported.
agent = create_agent(model, tools=[bash, deploy])

try:
    simulate_graph(agent)
except AccessRefused as refused:
    print(refused)

simulated = simulate_graph(agent, access={"deploy": "refuse"})
for message in simulated.invoke({"messages": [("user", "Clean up.")]})["messages"]:
    message.pretty_print()
