import subprocess

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

from agentworld_graphs import ScriptedChatModel, SimToolNode


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


# Your model goes here; this one says what it is told to.
model = ScriptedChatModel(
    script=[
        AIMessage(
            "",
            tool_calls=[
                {"name": "bash", "args": {"command": "rm -rf /srv /home && ls /"}, "id": "1"}
            ],
        ),
        AIMessage("Done."),
    ]
)


def think(state: MessagesState) -> dict[str, list[AIMessage]]:
    return {"messages": [model.bind_tools([bash]).invoke(state["messages"])]}


def goes_on(state: MessagesState) -> str:
    return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END


graph = StateGraph(MessagesState)
graph.add_node("think", think)
graph.add_node("tools", SimToolNode([bash]))  # was: ToolNode([bash])
graph.add_edge(START, "think")
graph.add_conditional_edges("think", goes_on, ["tools", END])
graph.add_edge("tools", "think")

for message in graph.compile().invoke({"messages": [("user", "Clean up.")]})["messages"]:
    message.pretty_print()
