"""What differs between two points of a world: files, records and values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentworld_sim import FunctionEngine, Scenario, ToolCall, ToolSpec, World
from agentworld_sim.controls import Fault
from agentworld_sim.engines.shell import ShellEngine
from agentworld_sim.types import Conditions, FileTree, StateChange, WorldState
from agentworld_sim.types.turns import Observation
from agentworld_sim.world_records import state_diff

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
        before = world.ref
        for call in calls:
            before = world.ref
            await world.step(call)
        return [str(change) for change in (await world.diff(before)).records]


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


async def test_going_back_is_the_same_difference_the_other_way_round() -> None:
    async with await World.create(SCENARIO) as world:
        world.add_tools(TOOLS)
        await world.step(DELETE)
        there, back = await world.diff(), await world.diff(world.ref, at=world.root)
        assert [(one.before, one.after) for one in there.records] == [
            (one.after, one.before) for one in back.records
        ]
        assert (there.records[0].kind, back.records[0].kind) == ("removed", "added")


async def test_all_that_differs_is_in_one_diff_and_reads_as_lines() -> None:
    def count(arguments: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        return Observation(text="ok"), {"stock": values.get("stock", 3) - 1}

    engines = [FunctionEngine({"take": count}), ShellEngine()]
    async with await World.create(engines=engines) as world:
        world.add_tools([ToolSpec(name="take"), ToolSpec(name="run", binds_to="shell/run")])
        assert not await world.diff() and str(await world.diff()) == ""
        await world.step(ToolCall("take", {}))
        here = world.ref
        await world.step(ToolCall("take", {}))
        await world.step(ToolCall("run", {"command": "echo hi > /srv/a"}))
        assert str(await world.diff()) == "A /srv/a\nA stock  1"
        later = await world.diff(here)
        assert [str(one) for one in later.values] == ["M stock  2 → 1"]
        assert repr(later) == "StateDiff(A /srv/a, M stock  2 → 1)"
        assert json.loads(json.dumps(later.to_json()))["values"] == [
            {"key": "stock", "kind": "modified", "before": 2, "after": 1}
        ]


async def test_the_records_of_the_well_known_servers_are_records_too() -> None:
    made = Scenario.model_validate({"name": "m", "domains": ["mcp"], "tools": ["memory"]})
    entity: dict[str, Any] = {"name": "Ann", "entityType": "person", "observations": []}
    async with await World.create(made, model=False) as world:
        await world.step(ToolCall("create_entities", {"entities": [entity]}))
        diff = await world.diff()
        assert [(one.table, one.kind) for one in diff.records] == [("entities", "added")]
        assert diff.values == ()


async def test_what_engines_and_controls_count_for_themselves_is_no_difference() -> None:
    fault = Fault(name="slow", tool="run", latency_us=1)
    async with await World.create(controls=[fault], model=False) as world:
        world.add_tools([ToolSpec(name="run", binds_to="shell/run")])
        await world.step(ToolCall("run", {"command": "true"}))
        assert any(key.startswith("control/") for key in (await world.state()).values)
        assert not await world.diff()


def test_what_a_machine_is_short_of_is_no_difference() -> None:
    before = WorldState(files=FileTree.from_entries(()), clock_us=0, seed=1)
    after = before.after(StateChange(clock_us=0, values=Conditions(offline=True).to_values()))
    assert state_diff(before, after, scenario=SCENARIO, tools=()).values == ()
