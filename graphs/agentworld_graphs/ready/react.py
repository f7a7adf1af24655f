"""`react`: an ordinary agent, at work in a simulated world.

Nothing here is special but one line: the node of the tools is a `SimToolNode`. The world belongs to the
thread. Its id and the point of its history where the thread stands are in the graph's state, so that
going back in time, copying a thread and resuming it do in the world what they do in the conversation.
"""

from __future__ import annotations

from typing import Any, NotRequired

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.runtime import Runtime

from agentworld_graphs.ready._agent import Agent, Settings, State
from agentworld_graphs.ready._worlds import ours
from agentworld_sim.goals import check_goals

__all__ = ["build", "graph"]


class Working(State):
    """A thread of `react`."""

    goals: NotRequired[list[dict[str, Any]]]
    """What became of the scenario's goals, when the agent says that it is done."""


def build(agent: Agent | None = None) -> Any:
    """The graph.

    Args:
        agent: Your own; the one that fixes a failing test by default.
    """
    who = agent or Agent()

    async def begin(state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        return await who.begin(state, Settings.of(runtime))

    async def think(state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        return {"messages": [await who.think(state["messages"], Settings.of(runtime))]}

    async def tools(state: Working, config: RunnableConfig, runtime: Runtime[Settings]) -> Any:
        # Where an agent with real tools has `ToolNode(tools)`.
        node = await who.node(state, Settings.of(runtime))
        return await node.ainvoke(state, config)

    async def judge(state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        node = await who.node(state, Settings.of(runtime))
        with ours():
            results = await check_goals(node.world, at=state.get("sim_ref"))
        return {
            "goals": [{"goal": one.goal, "met": one.met, "reason": one.reason} for one in results]
        }

    def goes_on(state: Working) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else "judge"

    made: Any = StateGraph(Working, context_schema=Settings, input_schema=MessagesState)
    made.add_node("begin", begin)
    made.add_node("think", think)
    made.add_node("tools", tools)
    made.add_node("judge", judge)
    made.add_edge(START, "begin")
    made.add_edge("begin", "think")
    made.add_conditional_edges("think", goes_on, ["tools", "judge"])
    made.add_edge("tools", "think")
    made.add_edge("judge", END)
    return made.compile(name="react")


graph = build()
