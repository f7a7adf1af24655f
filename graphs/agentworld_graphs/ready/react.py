"""`react`: an ordinary agent, at work in a simulated world.

Nothing here is special but one line: the node of the tools is a `SimToolNode`. The world belongs to the
thread. Its id and the point of its history where the thread stands are in the graph's state, so that
going back in time, copying a thread and resuming it do in the world what they do in the conversation.
"""

from __future__ import annotations

from typing import Any, NotRequired

from langchain_core.runnables import RunnableConfig
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import tools_condition
from langgraph.runtime import Runtime

from agentworld_graphs._interruption import interrupting
from agentworld_graphs.ready._agent import Agent, Settings, State, Steps, agent_of
from agentworld_sim.episode import hand_in
from agentworld_sim.goals import check_goals

__all__ = ["build", "graph"]


class Working(State):
    """A thread of `react`."""

    goals: NotRequired[list[dict[str, Any]]]
    """What became of the scenario's goals, when the agent says that it is done."""


class ReactSteps(Steps):
    """The nodes."""

    async def tools(
        self, state: Working, config: RunnableConfig, runtime: Runtime[Settings]
    ) -> Any:
        # Where an agent with real tools has `ToolNode(tools)`.
        node = self.who.node_in(await self.who.world(state, Settings.of(runtime)))
        return await node.ainvoke(state, config)

    async def judge(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        world = await self.who.world(state, Settings.of(runtime))
        with interrupting():
            here = await hand_in(world, state["messages"][-1].text, at=state.get("sim_ref"))
            results = await check_goals(world, at=here)
        return {
            "sim_ref": here,
            "goals": [{"goal": one.goal, "met": one.met, "reason": one.reason} for one in results],
        }


def build(agent: Agent | None = None) -> Any:
    """The graph.

    Args:
        agent: Your own; the one that fixes a failing test by default.
    """
    steps = ReactSteps(agent_of(agent))
    made: Any = StateGraph(Working, context_schema=Settings, input_schema=MessagesState)
    made.add_sequence([steps.begin, steps.think])
    made.add_node("tools", steps.tools)
    made.add_node("judge", steps.judge)
    made.add_edge(START, "begin")
    made.add_conditional_edges("think", tools_condition, {"tools": "tools", END: "judge"})
    made.add_edge("tools", "think")
    return made.compile(name="react")


graph = build()
