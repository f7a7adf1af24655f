import asyncio

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from agentworld_graphs import ScriptedChatModel, SimDeepAgentState, SimulatedSandbox


def call(name: str, **args: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}])


# Your model goes here; this one says what it is told to.
model = ScriptedChatModel(
    script=[
        call("write_file", file_path="/srv/plan.md", content="# Plan\n"),
        call("execute", command="rm -rf /etc && ls /srv"),
        AIMessage("Done."),
    ]
)
sandbox = SimulatedSandbox()
agent = create_deep_agent(
    model=model,
    backend=sandbox,
    checkpointer=InMemorySaver(),
    state_schema=SimDeepAgentState,
)
thread = {"configurable": {"thread_id": "1"}}
final = agent.invoke({"messages": [("user", "Clean up.")]}, thread)
for message in final["messages"]:
    message.pretty_print()

diff = asyncio.run(sandbox.world.diff(at=final["sim_ref"]))
print(f"{len(diff.files)} paths of the world changed; of this machine, none")
