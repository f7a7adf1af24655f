"""Records for an engine that imagines, and records that recorded answers show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agentworld_sim import Action, ToolCall, ToolSpec, Turn
from agentworld_sim.engines.table import Plan
from agentworld_sim.engines.table.seeds import records_from, with_records
from agentworld_sim.engines.table.table_changes import record_changes, records_view
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.turns import Observation, Provenance

from .desk import PLAN, TOOLS, opened, planned, said, shown

EMPTY = planned()
GET = next(tool for tool in TOOLS if tool.name == "get_ticket")
ASKED = ToolCall("get_ticket", {"team": "red", "id": 2})


async def busy() -> WorldState:
    """A world's state with three tickets and two users."""
    async with await opened(EMPTY) as world:
        for title in ("one", "two", "three"):
            await shown(world, "create_ticket", team="red", title=title)
        for login in ("ada", "ben"):
            await said(world, "add_user", login=login, name=login.title())
        return await world.state()


def after(state: WorldState, values: Mapping[str, Any]) -> WorldState:
    return state.after(StateChange(clock_us=state.clock_us, values=values))


async def test_the_records_that_a_call_names_are_shown_first() -> None:
    view = records_view(await busy(), EMPTY, about=ASKED, tool=GET, max_characters=4000)
    lines = view.splitlines()
    assert lines[0] == "tickets (3 records, named by team, id)"
    assert lines[1].startswith('{"id":2,"team":"red","title":"two",')
    assert "users (2 records, named by login)" in lines


@pytest.mark.parametrize("most", [60, 150, 200, 400, 700, 4000])
async def test_a_view_keeps_to_its_length_and_counts_what_it_leaves_out(most: int) -> None:
    view = records_view(await busy(), EMPTY, about=ASKED, tool=GET, max_characters=most)
    assert len(view) <= most
    rows = view.partition("users (")[0].count('{"id"')
    if view and rows < 3:
        assert f"… {3 - rows} more" in view


async def test_a_table_nobody_touched_is_shown_as_it_would_begin() -> None:
    async with await opened(PLAN, seed=3) as world:
        view = records_view(await world.state(), PLAN, about=ASKED, tool=GET, max_characters=9000)
        listed = await said(world, "search_tickets", query="")
    assert view.count('{"id":') == 5
    assert listed.text.count('"title"') == 5


async def test_typed_operations_change_the_records() -> None:
    state, plan = await busy(), EMPTY
    values = record_changes(
        state,
        plan,
        [
            {"kind": "put", "table": "users", "record": {"login": "ada", "name": "Ada L."}},
            {
                "kind": "put",
                "table": "users",
                "record": {"login": "cy", "name": "Cy", "email": "cy@example.com"},
            },
            {"kind": "delete", "table": "users", "key": "ben"},
            {"kind": "delete", "table": "tickets", "key": {"team": "red", "id": 3}},
        ],
    )
    assert list(values) == [
        'tables/users/"ada"',
        'tables/users/"cy"',
        'tables/users/"ben"',
        'tables/tickets/"red",3',
    ]
    assert values['tables/users/"ben"'] is None
    view = records_view(after(state, values), plan, about=ASKED, tool=GET, max_characters=4000)
    assert '"name":"Ada L."' in view and "tickets (2 records" in view


async def test_an_operation_on_an_untouched_table_lets_it_begin_first() -> None:
    async with await opened(PLAN, seed=3) as world:
        state = await world.state()
    record = {"login": "cy", "name": "Cy", "email": "cy@example.com"}
    values = record_changes(state, PLAN, [{"kind": "put", "table": "users", "record": record}])
    assert len(values) == 7
    assert values["tables/users"] == {"begun": True}


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ({"kind": "put", "table": "user", "record": {}}, "no table 'user'. Did you mean 'users'"),
        ({"kind": "put", "table": "users"}, "needs `record`"),
        ({"kind": "put", "table": "users", "record": {"name": "x"}}, "its key: login is missing"),
        ({"kind": "put", "table": "users", "record": {"login": 5}}, "'login' of 'users': 5 is not"),
        ({"kind": "put", "table": "users", "record": {"login": "x"}}, "needs 'name'"),
        ({"kind": "delete", "table": "users", "key": "zoe"}, "no record of 'users'"),
        ({"kind": "delete", "table": "users", "key": {}}, "login is missing in `key`"),
        ({"kind": "move", "table": "users"}, "the kind is 'move'"),
        ({}, "no table None"),
    ],
)
async def test_an_operation_that_makes_no_sense_is_told(
    operation: Mapping[str, Any], reason: str
) -> None:
    good = {"kind": "delete", "table": "users", "key": "ada"}
    with pytest.raises(ValueError, match="operation 2: ") as caught:
        record_changes(await busy(), EMPTY, [good, operation])
    assert reason in str(caught.value)


def turn(
    name: str, arguments: Mapping[str, Any], value: Any, provenance: Provenance = "real"
) -> Turn:
    failed = isinstance(value, str)
    return Turn(
        parent="0" * 40,
        call=ToolCall(name, arguments),
        action=Action(""),
        observation=Observation(
            text=value if failed else "",
            structured=None if failed else value,
            is_error=failed,
            provenance=provenance,
        ),
        change=StateChange(clock_us=0),
    )


def ticket(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "team": "red", "title": f"t{number}", **fields}


RECORDED = (
    turn("list_tickets", {"team": "red"}, {"items": [ticket(1), ticket(2), ticket(3)], "total": 3}),
    turn("get_ticket", {"team": "red", "id": 2}, ticket(2, title="newer", points=4)),
    turn("get_ticket", {"team": "red", "id": 9}, "no ticket with number 9 was found in red"),
    turn("get_ticket", {"team": "red", "id": 8}, ticket(8), "computed"),
    turn("delete_tickets", {"team": "red", "ids": [3]}, {"success": True, "message": "ok"}),
    turn("save_user", {"login": "ada", "name": "Ada"}, {"login": "ada", "email": "a@example.com"}),
)


def test_recorded_answers_show_the_records_as_they_were_at_the_end() -> None:
    found = records_from(RECORDED, PLAN)
    assert found == {
        "tickets": [ticket(1), ticket(2, title="newer", points=4)],
        "users": [{"login": "ada", "name": "Ada", "email": "a@example.com"}],
    }


async def test_a_world_begins_with_recorded_records() -> None:
    tables = with_records(EMPTY, records_from(RECORDED, EMPTY))
    async with await opened(replace(EMPTY, tables=tables)) as world:
        found = await shown(world, "get_ticket", team="red", id=2)
        assert (found["title"], found["points"], found["state"]) == ("newer", 4, "open")
        made = await shown(world, "create_ticket", team="red", title="next")
        assert made["id"] == 3


def test_a_tool_nobody_planned_shows_nothing() -> None:
    assert records_from([turn("other", {}, {"id": 1})], PLAN) == {}
    assert records_from(RECORDED, Plan(), tools={"other": ToolSpec(name="other")}) == {}
