"""Tools that work on records: what one does is often clear only beside the others of its graph."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs]  langgraph is a namespace
    START,
    MessagesState,
    StateGraph,
)

from agentworld_graphs import ScriptedChatModel, SimToolNode, SimulatedTools, simulate_graph

if TYPE_CHECKING:
    from conftest import Lab

WAYS = pytest.mark.parametrize("way", ["invoke", "ainvoke"])


async def run(graph: Any, way: str, given: Any, *config: Any) -> Any:
    return graph.invoke(given, *config) if way == "invoke" else await graph.ainvoke(given, *config)


def ticket_tools(lab: Lab) -> dict[str, BaseTool]:
    """An issue tracker as people write one, without any schema of its answers."""

    def create_ticket(title: Any, priority: Any = "medium") -> None:
        """Create a ticket."""
        lab.ran.append("create_ticket")

    def list_tickets(status: Any = None) -> None:
        """List tickets, optionally by status."""
        lab.ran.append("list_tickets")

    def get_ticket(ticket_id: Any) -> None:
        """Get a ticket by its id."""
        lab.ran.append("get_ticket")

    def update_ticket(ticket_id: Any, status: Any) -> None:
        """Update the status of a ticket."""
        lab.ran.append("update_ticket")

    def delete_ticket(ticket_id: Any) -> None:
        """Delete a ticket."""
        lab.ran.append("delete_ticket")

    given = (create_ticket, list_tickets, get_ticket, update_ticket, delete_ticket)
    return {function.__name__: lab.tool(function) for function in given}


def script(lab: Lab) -> list[AIMessage]:
    return [
        lab.asks(lab.call("list_tickets")),
        lab.asks(lab.call("create_ticket", title="The lift is stuck", priority="high")),
        lab.asks(lab.call("update_ticket", ticket_id=1, status="closed")),
        lab.asks(lab.call("delete_ticket", ticket_id=2)),
        lab.asks(lab.call("list_tickets")),
        lab.asks(lab.call("get_ticket", ticket_id=2)),
        AIMessage("done"),
    ]


@WAYS
@pytest.mark.parametrize("shape", ["node", "middleware", "whole graph"])
async def test_functions_that_work_on_records_need_no_model(
    lab: Lab, go: Any, way: str, shape: str
) -> None:
    tools = list(ticket_tools(lab).values())
    model = ScriptedChatModel(script=script(lab))
    saver = InMemorySaver()
    graph: Any
    if shape == "node":
        graph = lab.agent(SimToolNode(tools), *script(lab), saver=saver)
    elif shape == "middleware":
        graph = lab.create_agent(model, tools, middleware=[SimulatedTools()], checkpointer=saver)
    else:
        graph = simulate_graph(lab.create_agent(model, tools, checkpointer=saver))
    final = await run(graph, way, go, lab.thread())
    before, created, _, _, after, gone = lab.answers(final)
    made = json.loads(created)
    assert made["title"] == "The lift is stuck"
    ids = [one["id"] for one in json.loads(before)]
    assert [one["id"] for one in json.loads(after)] == [n for n in [*ids, made["id"]] if n != 2]
    assert json.loads(after)[0]["status"] == "closed"
    assert "2" in gone and "not found" in gone
    # Back to where the list was asked for: nothing was created, closed or deleted there.
    begun = [one for one in graph.get_state_history(lab.thread()) if one.next][-2]
    again = await run(graph, way, None, begun.config)
    assert lab.answers(again) == lab.answers(final)
    assert lab.ran == []


@WAYS
async def test_what_one_agent_changes_another_reads(lab: Lab, go: Any, way: str) -> None:
    tools = ticket_tools(lab)
    said = [
        lab.asks(lab.call("create_ticket", title="The lift is stuck")),
        AIMessage("made"),
        lab.asks(lab.call("list_tickets", "2")),
        AIMessage("seen"),
    ]
    builder: Any = StateGraph(MessagesState)
    for name, given in (("maker", ["create_ticket"]), ("reader", ["list_tickets", "get_ticket"])):
        agent = lab.create_agent(ScriptedChatModel(script=said), [tools[one] for one in given])
        builder.add_node(name, agent)
    builder.add_edge(START, "maker")
    builder.add_edge("maker", "reader")
    final = await run(simulate_graph(builder.compile()), way, go)
    created, listed = lab.answers(final)
    assert json.loads(created) in json.loads(listed)
    assert lab.ran == []
