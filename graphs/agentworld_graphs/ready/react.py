"""`react`: an ordinary agent, at work in a simulated world.

Nothing here is special but one line: the node of the tools is a `SimToolNode`. The world belongs to the
thread. Its id and the point of its history where the thread stands are in the graph's state, so that
going back in time, copying a thread and resuming it do in the world what they do in the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
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

from agentworld_graphs.ready._agent import Agent, Settings, State, agent_of
from agentworld_graphs.ready._worlds import interrupting
from agentworld_sim.goals import check_goals

__all__ = ["build", "graph"]


class Working(State):
    """A thread of `react`."""

    goals: NotRequired[list[dict[str, Any]]]
    """What became of the scenario's goals, when the agent says that it is done."""


@dataclass(frozen=True, slots=True)
class Steps:
    """The nodes."""

    who: Agent

    async def begin(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        return await self.who.begin(state, Settings.of(runtime))

    async def think(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        return {"messages": [await self.who.think(state["messages"], Settings.of(runtime))]}

    async def tools(
        self, state: Working, config: RunnableConfig, runtime: Runtime[Settings]
    ) -> Any:
        # Where an agent with real tools has `ToolNode(tools)`.
        node = await self.who.node(state, Settings.of(runtime))
        return await node.ainvoke(state, config)

    async def judge(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        node = await self.who.node(state, Settings.of(runtime))
        with interrupting():
            results = await check_goals(node.world, at=state.get("sim_ref"))
        return {
            "goals": [{"goal": one.goal, "met": one.met, "reason": one.reason} for one in results]
        }

    def goes_on(self, state: Working) -> str:
        last = state["messages"][-1]
        return "tools" if isinstance(last, AIMessage) and last.tool_calls else "judge"


def build(agent: Agent | None = None) -> Any:
    """The graph.

    Args:
        agent: Your own; the one that fixes a failing test by default.
    """
    steps = Steps(agent_of(agent) or Agent())
    made: Any = StateGraph(Working, context_schema=Settings, input_schema=MessagesState)
    made.add_node("begin", steps.begin)
    made.add_node("think", steps.think)
    made.add_node("tools", steps.tools)
    made.add_node("judge", steps.judge)
    made.add_edge(START, "begin")
    made.add_edge("begin", "think")
    made.add_conditional_edges("think", steps.goes_on, ["tools", "judge"])
    made.add_edge("tools", "think")
    made.add_edge("judge", END)
    return made.compile(name="react")


graph = build()
