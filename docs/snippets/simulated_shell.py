from langchain.agents import create_agent
from langchain.agents.middleware import HostExecutionPolicy
from langchain_core.messages import AIMessage

from agentworld_graphs import ScriptedChatModel, SimulatedShellMiddleware

commands = ["greet() { echo hello $1; }; cd /tmp", "pwd; greet you", "seq 1 100"]
script = [
    AIMessage("", tool_calls=[{"name": "shell", "args": {"command": command}, "id": str(number)}])
    for number, command in enumerate(commands)
]
shell = SimulatedShellMiddleware(  # was: ShellToolMiddleware(
    workspace_root="/work",
    startup_commands=["git --version || echo no git here"],
    execution_policy=HostExecutionPolicy(max_output_lines=3),
)
agent = create_agent(
    ScriptedChatModel(script=[*script, AIMessage("Done.")]), tools=[], middleware=[shell]
)
for message in agent.invoke({"messages": [("user", "Go.")]})["messages"]:
    message.pretty_print()
