"""`research`: an agent that plans, searches, opens pages and collects what it read into a table.

The internet that it works in exists nowhere: the pages are those of a fictional world, so that the answer can be
counted right or wrong, and a model that knows much has read none of it before.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] -- it has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import tools_condition
from langgraph.runtime import Runtime

from agentworld_graphs._demo._research_agent import SCENARIO, TOOLS, research_script
from agentworld_graphs._interruption import interrupting
from agentworld_graphs.ready._agent import Agent, Settings, agent_of
from agentworld_graphs.ready.react import ReactSteps, Working
from agentworld_sim import AgentworldError

__all__ = ["build", "graph"]

PLAN = (
    "Do not search yet. Write a short plan: which columns the answer needs, which things have to be found first,"
    " and what to search for."
)
SEARCH = (
    "Now search, and open the pages that may have a fact: a search result rarely says it. Stop when you have read"
    " every cell of the answer."
)
COLLECT = "Write the answer: one Markdown table with the columns that were asked for, from what you have read alone."


class ResearchSteps(ReactSteps):
    """The nodes. Each stage is told its part by a message, which any chat model takes."""

    async def plan(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        asked = HumanMessage(PLAN)
        model = await self.who.model(Settings.of(runtime))
        # Without its tools, so that it plans and nothing else.
        with interrupting(AgentworldError):
            return {"messages": [asked, await model.ainvoke([*state["messages"], asked])]}

    async def search(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        return await self._ask(SEARCH, state, runtime)

    async def collect(self, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        return await self._ask(COLLECT, state, runtime)

    async def _ask(self, told: str, state: Working, runtime: Runtime[Settings]) -> dict[str, Any]:
        asked = HumanMessage(told)
        messages = [*state["messages"], asked]
        return {"messages": [asked, await self.who.think(messages, Settings.of(runtime))]}


def build(agent: Agent | None = None) -> Any:
    """The graph.

    Args:
        agent: Your own; by default one that knows a shipped fictional world by its script.
    """
    default: dict[str, Any] = {"tools": TOOLS, "scenario": SCENARIO, "script": research_script()}
    steps = ResearchSteps(agent_of(agent, **default))
    made: Any = StateGraph(Working, context_schema=Settings, input_schema=MessagesState)
    made.add_sequence([steps.begin, steps.plan, steps.search])
    for name in ("tools", "think", "collect", "judge"):
        made.add_node(name, getattr(steps, name))
    made.add_edge(START, "begin")
    for name in ("search", "think"):
        made.add_conditional_edges(name, tools_condition, {"tools": "tools", END: "collect"})
    made.add_edge("tools", "think")
    made.add_edge("collect", "judge")
    return made.compile(name="research")


graph = build()
