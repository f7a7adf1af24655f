"""SQL on the records of worlds whose tools work on the same tables: at every point, in every fork, both ways."""

from __future__ import annotations

import pytest

from agentworld_sim import ToolCall, World
from agentworld_sim.engines.table.keys import record_key
from agentworld_sim.relational.layout import Table
from agentworld_sim.relational.record_database import RecordDatabase, Statement, StatementResult
from agentworld_sim.types.values import apply_changes
from tests.engines.table.desk import TICKETS, USERS, opened, planned
from tests.relational.record_worlds import values_of

EVERY = Statement(sql="SELECT team, id, title, state FROM tickets", reads=["tickets"])
CREATE = Statement(
    sql="""INSERT INTO tickets (team, title, state, points, created_at, updated_at)
           VALUES (:team, :title, 'open', 1, datetime('now'), datetime('now'))""",
    writes=["tickets"],
)


def database() -> RecordDatabase:
    return RecordDatabase([TICKETS, USERS], record_key)


async def asked(
    held: RecordDatabase,
    world: World,
    statement: Statement,
    ref: str | None = None,
    **given: object,
) -> StatementResult:
    state = await world.state(ref)
    return held.run(statement, given, values=state.values, clock_us=state.clock_us, seed=state.seed)


async def test_every_point_of_every_line_is_read_as_it_was() -> None:
    world = await opened(planned())
    refs = [world.root]
    for team, title in (("red", "One"), ("blue", "Two"), ("red", "Three")):
        refs.append(
            (await world.step(ToolCall("create_ticket", {"team": team, "title": title}))).ref
        )
    fork = await world.fork(at=refs[2])
    await fork.step(ToolCall("close_ticket", {"team": "red", "id": 1}))
    rows = [("red", 1, "One", "open"), ("blue", 1, "Two", "open"), ("red", 2, "Three", "open")]
    held = database()
    for place in (3, 0, 2, 1, 3):
        result = await asked(held, world, EVERY, refs[place])
        assert list(result.rows) == rows[:place]
    assert (await asked(held, fork, EVERY)).rows == (("red", 1, "One", "closed"), rows[1])
    assert list((await asked(held, world, EVERY)).rows) == rows


async def test_tools_find_what_sql_wrote_and_keys_go_on_where_either_stopped() -> None:
    world = await opened(planned())
    await world.step(ToolCall("create_ticket", {"team": "red", "title": "By tool"}))
    held = database()
    state = await world.state()
    made = await asked(held, world, CREATE, team="red", title="By SQL")
    assert made.new_records[0]["id"] == 2
    after = apply_changes(state.values, made.values)
    gone = held.run(
        Statement(sql="DELETE FROM tickets WHERE id = 2", writes=["tickets"]),
        {},
        values=after,
        clock_us=state.clock_us,
        seed=1,
    )
    # As the tools do it.
    await world.step(ToolCall("create_ticket", {"team": "red", "title": "By tool too"}))
    await world.step(ToolCall("delete_tickets", {"team": "red", "ids": [2]}))
    assert dict(apply_changes(after, gone.values)) == dict((await world.state()).values)
    assert (await asked(held, world, CREATE, team="red", title="x")).new_records[0]["id"] == 3


@pytest.mark.parametrize(
    ("held", "expected"), [("order-7", "order-8"), ("ENG-09", "ENG-10"), (None, "order-1")]
)
def test_keys_that_are_texts_look_like_those_before(held: str | None, expected: str) -> None:
    orders = Table(name="orders", key=("code",), fields={"code": {"type": "string"}, "of": {}})
    values = values_of(orders, *([{"code": held}] if held else []))
    insert = Statement(sql="INSERT INTO orders (of) VALUES (1)", writes=["orders"])
    result = RecordDatabase([orders], record_key).run(insert, {}, values=values, clock_us=0, seed=1)
    assert result.new_records == ({"of": 1, "code": expected},)
