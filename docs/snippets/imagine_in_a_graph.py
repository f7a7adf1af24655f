import asyncio

from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph

from agentworld_graphs import SimToolNode
from agentworld_sim import World
from agentworld_sim.llm.scripted import ScriptedModelServer


@tool
def track_parcel(number: str) -> str:
    """Where a parcel is."""
    raise AssertionError("the real tool is never called")


def ask(state: MessagesState) -> dict[str, list[AIMessage]]:
    call = {"name": "track_parcel", "args": {"number": "7"}, "id": "1"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


async def main(url: str) -> None:
    async with await World.create(model=url) as world:
        graph = StateGraph(MessagesState)
        graph.add_node("ask", ask)
        graph.add_node("tools", SimToolNode([track_parcel], world=world))
        graph.add_edge(START, "ask")
        graph.add_edge("ask", "tools")
        graph.add_edge("tools", END)
        answer = await graph.compile().ainvoke({"messages": [("user", "Where is parcel 7?")]})
        print(answer["messages"][-1].content)


# Your model's URL goes here. This server says what it is told to.
with ScriptedModelServer(["In Utrecht, arrives tomorrow."]) as server:
    asyncio.run(main(server.url))
