"""Goals about records, and about what must be as it was: solutions, and wrong solutions."""

from __future__ import annotations

from typing import Any

import pytest

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.goals import check_goals

ID = {"id": {"type": "integer"}}
ORDER = {"order_id": {"type": "integer"}}
FIELDS = {"item": {"type": "string"}, "status": {"type": "string"}, "paid": {"type": "boolean"}}
TOOLS = [
    ToolSpec(
        name="create_order",
        input_schema={"type": "object", "properties": FIELDS, "required": ["item", "status"]},
    ),
    ToolSpec(name="list_orders"),
    ToolSpec(
        name="update_order",
        input_schema={
            "type": "object",
            "properties": {**ORDER, **FIELDS},
            "required": ["order_id"],
        },
    ),
    ToolSpec(
        name="delete_order",
        input_schema={"type": "object", "properties": ORDER, "required": ["order_id"]},
    ),
    ToolSpec(name="run", binds_to="shell/run"),
]


def create(**fields: Any) -> ToolCall:
    return ToolCall("create_order", fields)


def update(id: int, **fields: Any) -> ToolCall:
    return ToolCall("update_order", {"order_id": id, **fields})


def delete(id: int) -> ToolCall:
    return ToolCall("delete_order", {"order_id": id})


def run(command: str) -> ToolCall:
    return ToolCall("run", {"command": command})


async def reason_of(goal: dict[str, Any], *calls: ToolCall) -> str:
    """Why a goal is not met after these calls; empty when it is."""
    scenario = Scenario.model_validate(
        {
            "name": "shop",
            "domains": ["mcp", "terminal"],
            "files": {"/srv/app/a": "1\n", "/srv/app/b/c": "2\n", "/srv/apple": "3\n"},
            "tables": {
                "orders": {
                    "key": "id",
                    "fields": {**ID, **FIELDS},
                    "generate": 0,
                    "records": [
                        {"id": 1, "item": "chair", "status": "open", "paid": True},
                        {"id": 2, "item": "table", "status": "open", "paid": False},
                        {"id": 3, "item": "lamp", "status": "sent", "paid": True},
                    ],
                }
            },
            "operations": {
                "create_order": {"does": "create", "table": "orders"},
                "list_orders": {"does": "list", "table": "orders"},
                "update_order": {"does": "update", "table": "orders"},
                "delete_order": {"does": "delete", "table": "orders"},
            },
            "goals": [goal],
        }
    )
    async with await World.create(scenario, model=False) as world:
        world.add_tools(TOOLS)
        for call in calls:
            turn = await world.step(call)
            assert not turn.observation.is_error, turn.observation.text
        (result,) = await check_goals(world)
        (again,) = await check_goals(world)
        assert result == again and result.met == (result.reason == "")
        return result.reason


ADDED = {"record": "orders", "added": {"item": "desk", "status": "open"}}
SENT = {"record": "orders", "where": {"status": "open"}, "changed": {"status": "sent"}}
DELETED = {"record": "orders", "deleted": {"status": "open"}}
UNTOUCHED = {"unchanged": "orders", "besides": {"id": 2}}
FILES = {"unchanged": "/srv/app", "besides": ["/srv/app/b"]}
LIST = ToolCall("list_orders", {})

SOLVED: list[tuple[dict[str, Any], tuple[ToolCall, ...]]] = [
    (ADDED, (create(item="desk", status="open"),)),
    (ADDED, (LIST, create(item="desk", status="open"), delete(1))),
    (SENT, (update(1, status="sent"), update(2, status="sent"))),
    (DELETED, (delete(1), delete(2))),
    (UNTOUCHED, ()),
    (UNTOUCHED, (LIST, delete(2))),
    (UNTOUCHED, (update(2, status="lost"),)),
    (FILES, (run("echo x > /srv/app/b/c; echo y > /srv/apple; touch /srv/app/a"),)),
]

WRONG: list[tuple[dict[str, Any], tuple[ToolCall, ...], str]] = [
    # added
    (ADDED, (), "0 such records were added"),
    (ADDED, (create(item="desk", status="sent"),), "0 such records were added: A orders/4"),
    (ADDED, (create(item="desk", status="open"),) * 2, "2 such records were added"),
    (ADDED, (update(1, item="desk"),), "0 such records were added"),
    (ADDED, (create(item="desk", status="open"), delete(4)), "0 such records were added"),
    # changed
    (SENT, (), "nothing was changed in 1, 2"),
    (SENT, (LIST,), "nothing was changed in 1, 2"),
    (SENT, (update(1, status="sent"),), '"status":"open"'),
    (SENT, (update(1, status="sent"), delete(2)), "2 was deleted"),
    (SENT, (update(1, status="sent"), update(2, status="Sent")), '"status":"Sent"'),
    (SENT, (update(3, status="open"),), "nothing was changed in 1, 2"),
    # deleted
    (DELETED, (), "still there: 1, 2"),
    (DELETED, (delete(1),), "still there: 2"),
    (DELETED, (delete(3),), "still there: 1, 2"),
    (DELETED, (update(1, status="gone"), update(2, status="gone")), "still there: 1, 2"),
    # unchanged
    (UNTOUCHED, (delete(1),), "D orders/1"),
    (UNTOUCHED, (update(3, paid=False),), "M orders/3"),
    (UNTOUCHED, (create(item="desk", status="open"),), "A orders/4"),
    (UNTOUCHED, (delete(1), delete(2), delete(3)), "D orders/1"),
    (FILES, (run("echo x > /srv/app/a"),), "M /srv/app/a"),
    (FILES, (run("rm /srv/app/a"),), "D /srv/app/a"),
    (FILES, (run("echo x > /srv/app/new"),), "A /srv/app/new"),
    (FILES, (run("chmod 600 /srv/app/a"),), "mode 0644 → 0600"),
    # what was never there
    ({"record": "orders", "deleted": {"id": 9}}, (delete(1),), 'no record had {"id":9}'),
    ({"record": "orders", "deleted": {"paid": 1}}, (delete(1),), 'no record had {"paid":1}'),
    ({"record": "order", "added": {"id": 4}}, (), "no table 'order'. Did you mean 'orders'?"),
    ({"unchanged": "order"}, (), "no table 'order'. Did you mean 'orders'?"),
]


@pytest.mark.parametrize(("goal", "calls"), SOLVED)
async def test_a_solution_meets_the_goal(goal: dict[str, Any], calls: tuple[ToolCall, ...]) -> None:
    assert await reason_of(goal, *calls) == ""


@pytest.mark.parametrize(("goal", "calls", "reason"), WRONG)
async def test_a_wrong_solution_is_refused_with_the_reason(
    goal: dict[str, Any], calls: tuple[ToolCall, ...], reason: str
) -> None:
    assert reason in await reason_of(goal, *calls)


async def test_a_goal_reads_as_one_line() -> None:
    scenario = Scenario.model_validate(
        {"name": "x", "domains": ["mcp"], "goals": [ADDED, SENT, DELETED, UNTOUCHED, FILES]}
    )
    async with await World.create(scenario, model=False) as world:
        assert [result.goal for result in await check_goals(world)] == [
            'orders: added {"item":"desk","status":"open"}',
            'orders: where {"status":"open"} changed {"status":"sent"}',
            'orders: deleted {"status":"open"}',
            'orders: unchanged besides {"id":2}',
            "/srv/app: unchanged besides /srv/app/b",
        ]
