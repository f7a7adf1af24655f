"""Which records differ between two points of a world."""

from __future__ import annotations

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.table.changes import record_changes

ID = {"type": "object", "properties": {"order_id": {"type": "integer"}}, "required": ["order_id"]}
SCENARIO = Scenario.model_validate(
    {
        "name": "orders",
        "domains": ["mcp"],
        "tables": {
            "orders": {
                "key": "id",
                "fields": {"id": {"type": "integer"}, "status": {"type": "string"}},
                "generate": 0,
                "records": [{"id": 1, "status": "open"}, {"id": 2, "status": "sent"}],
            }
        },
        "operations": {
            "list_orders": {"does": "list", "table": "orders"},
            "delete_order": {"does": "delete", "table": "orders"},
            "close_order": {"does": "update", "table": "orders", "fixed": {"status": "closed"}},
        },
    }
)
TOOLS = [
    ToolSpec(name="list_orders"),
    ToolSpec(name="delete_order", input_schema=ID),
    ToolSpec(name="close_order", input_schema=ID),
]


async def changes_of(*calls: ToolCall) -> list[str]:
    """What the last call changed."""
    async with await World.create(SCENARIO) as world:
        world.add_tools(TOOLS)
        before = await world.state()
        for call in calls:
            before = await world.state()
            await world.step(call)
        found = record_changes(
            before, await world.state(), tools=world.tools.values(), scenario=world.scenario
        )
        return [str(change) for change in found]


LIST = ToolCall("list_orders", {})
DELETE = ToolCall("delete_order", {"order_id": 2})
CLOSE = ToolCall("close_order", {"order_id": 1})


async def test_a_table_that_is_touched_for_the_first_time_has_not_changed() -> None:
    assert await changes_of(LIST) == []


async def test_a_record_that_is_deleted_is_seen_also_by_the_first_call_of_all() -> None:
    gone = ['D orders/2  {"id":2,"status":"sent"}']
    assert await changes_of(DELETE) == await changes_of(LIST, DELETE) == gone


async def test_a_record_that_is_changed_shows_both() -> None:
    shown = ['M orders/1  {"id":1,"status":"open"} → {"id":1,"status":"closed"}']
    assert await changes_of(CLOSE) == await changes_of(DELETE, CLOSE) == shown
