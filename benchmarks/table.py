"""Calls on tables of records, beside the same work by hand in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from itertools import count
from typing import Any

from agentworld_sim import Scenario, ToolCall, ToolSpec, World
from agentworld_sim.engines.table import Argument, Operation, Output, Table, TableEngine
from benchmarks._rows import Row, p50_ms, p50_ms_async, run

DESK = Scenario.model_validate({"name": "desk", "domains": ("mcp",)})
RECORDS = (1_000, 100_000)
PAGE = 20
TARGET_MS = 5
"""Beside a real server over stdio, which takes 1 to 2 ms for the transport alone, a call is not felt."""

TICKET: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "title": {"type": "string"},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "created_at": {"type": "string", "format": "date-time"},
    },
    "required": ["id", "title", "state", "created_at"],
}
PAGE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": TICKET},
        "total": {"type": "integer"},
    },
    "required": ["items", "total"],
}
TOOLS = (
    ToolSpec(
        name="create_ticket",
        domain="mcp",
        input_schema={"type": "object", "properties": {"title": {"type": "string"}}},
        output_schema=TICKET,
    ),
    ToolSpec(
        name="list_tickets",
        domain="mcp",
        input_schema={
            "type": "object",
            "properties": {
                "state": {"type": "string"},
                "limit": {"type": "integer"},
                "offset": {"type": "integer"},
            },
        },
        output_schema=PAGE_SCHEMA,
    ),
)
OPERATIONS = {
    "create_ticket": Operation(
        tool="create_ticket",
        does="create",
        table="tickets",
        arguments={"title": Argument("field", "title")},
        output=Output(schema=TICKET),
    ),
    "list_tickets": Operation(
        tool="list_tickets",
        does="list",
        table="tickets",
        arguments={
            "state": Argument("field", "state"),
            "limit": Argument("limit"),
            "offset": Argument("offset"),
        },
        output=Output(records="items", total="total", schema=PAGE_SCHEMA),
    ),
}


def rows() -> list[Row]:
    """Creating and listing, in a small table and in a large one."""
    return [row for records in RECORDS for row in run(_rows(records))]


def _ticket(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "title": f"ticket {number}",
        "state": "closed" if number % 3 else "open",
        "created_at": "2026-01-05T09:00:00Z",
    }


async def _rows(records: int) -> list[Row]:
    table = Table(
        name="tickets",
        fields=TICKET["properties"],
        required=tuple(TICKET["required"]),
        records=tuple(_ticket(number) for number in range(1, records + 1)),
    )
    engine = TableEngine(operations=OPERATIONS, tables={"tickets": table})
    create, listing = _by_hand(records)
    async with await World.create(DESK, engines=[engine]) as world:
        world.add_tools(TOOLS)
        pages = count()

        async def page(**filters: str) -> None:
            offset = next(pages) * PAGE % records
            arguments = {"limit": PAGE, "offset": offset, **filters}
            await world.step(ToolCall("list_tickets", arguments))

        await page()
        listed = await p50_ms_async(page)
        filtered = await p50_ms_async(lambda: page(state="open"))
        made = await p50_ms_async(
            lambda: world.step(ToolCall("create_ticket", {"title": "another"}))
        )
    shown = f"{records:,} records"
    return [
        _row(f"create a record, {shown}", made, create),
        _row(f"list {PAGE} records, {shown}", listed, listing[0]),
        _row(f"list {PAGE} records of a state, {shown}", filtered, listing[1]),
    ]


def _row(name: str, ours: float, theirs: float) -> Row:
    return Row(
        name=name,
        ours=ours,
        alternative="sqlite3 by hand",
        theirs=theirs,
        target=f"under {TARGET_MS} ms",
        met=ours < TARGET_MS,
    )


def _by_hand(records: int) -> tuple[float, tuple[float, float]]:
    """The median of a create, and of a page without and with a filter."""
    database = sqlite3.connect(":memory:")
    database.execute(
        "CREATE TABLE tickets (id INTEGER PRIMARY KEY, title TEXT, state TEXT, created_at TEXT)"
    )
    database.execute("CREATE INDEX by_state ON tickets (state)")
    rows = [tuple(_ticket(number).values()) for number in range(1, records + 1)]
    database.executemany("INSERT INTO tickets VALUES (?,?,?,?)", rows)
    pages = count()

    def page(where: str) -> str:
        offset = next(pages) * PAGE % records
        total = database.execute(f"SELECT count(*) FROM tickets {where}").fetchone()[0]
        found = database.execute(
            f"SELECT * FROM tickets {where} ORDER BY id LIMIT ? OFFSET ?", (PAGE, offset)
        ).fetchall()
        items = [dict(zip(TICKET["properties"], row, strict=True)) for row in found]
        return json.dumps({"items": items, "total": total}, indent=2)

    def create() -> str:
        row = database.execute(
            "INSERT INTO tickets (title, state, created_at) VALUES (?,?,?) RETURNING *",
            ("another", "open", "2026-01-05T09:00:00Z"),
        ).fetchone()
        database.commit()
        return json.dumps(dict(zip(TICKET["properties"], row, strict=True)), indent=2)

    listing = p50_ms(lambda: page("")), p50_ms(lambda: page("WHERE state = 'open'"))
    made = p50_ms(create)
    database.close()
    return made, listing
