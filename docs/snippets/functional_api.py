from langchain_core.messages import AIMessage, AnyMessage, ToolCall
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph.message import add_messages

from agentworld_graphs import ScriptedChatModel, simulate


@tool
def bash(command: str) -> str:
    """Run a command in bash."""
    raise AssertionError("the real tool is never called")


world_tool = simulate(bash)
calls = [
    {"name": "bash", "args": {"command": "echo milk >> /tmp/list"}, "id": "1"},
    {"name": "bash", "args": {"command": "cat /tmp/list"}, "id": "2"},
]
model = ScriptedChatModel(
    script=[
        AIMessage("", tool_calls=calls),
        AIMessage("Added."),
        AIMessage("", tool_calls=calls),
        AIMessage("Added."),
    ]
)


@task
def call_tool(call: ToolCall) -> AnyMessage:
    return world_tool.invoke(call)


@entrypoint(checkpointer=InMemorySaver())
def agent(messages: list[AnyMessage], *, previous: list[AnyMessage] | None = None):
    messages = add_messages(previous or [], messages)
    while (reply := model.invoke(messages)).tool_calls:
        answers = [call_tool(call) for call in reply.tool_calls]  # in parallel
        messages = add_messages(messages, [reply, *(answer.result() for answer in answers)])
    messages = add_messages(messages, [reply])
    return entrypoint.final(value=messages[-2].content, save=messages)


shopping, other = ({"configurable": {"thread_id": name}} for name in ("shopping", "other"))
for thread in (shopping, shopping, other):
    print(agent.invoke([("user", "Add milk.")], thread).split())
