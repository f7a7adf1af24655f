"""A graph of somebody's own, as a `langgraph.json` names it: their tools, their scenario, their script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agentworld_graphs.ready import rehearse
from agentworld_graphs.ready._agent import Agent


@tool
def list_orders(status: str | None = None) -> list[dict[str, Any]]:
    """Lists orders."""
    raise AssertionError("the real tool ran")


@tool
def get_order(order_id: int) -> dict[str, Any]:
    """Reads an order."""
    raise AssertionError("the real tool ran")


@tool
def delete_order(order_id: int) -> None:
    """Deletes an order."""
    raise AssertionError("the real tool ran")


def _calls(name: str, id: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": id}])


orders_agent = Agent(
    tools=[list_orders, get_order, delete_order],
    scenario=Path(__file__).with_name("orders.yaml"),
    script=[
        _calls("list_orders", "c1"),
        _calls("delete_order", "c2", order_id=2),
        _calls("list_orders", "c3"),
        AIMessage("Done."),
    ],
)
orders = rehearse.build(orders_agent)
