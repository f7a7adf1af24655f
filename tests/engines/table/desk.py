"""A help desk with tickets and users, as an MCP server would offer it, and its plan by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim import Scenario, ToolCall, ToolSpec, World, WorldStore
from agentworld_sim.engines.table import Argument, Operation, Output, Plan, Table, TableEngine
from agentworld_sim.ports import Imaginer
from agentworld_sim.types.turns import Observation

SCENARIO = Scenario.model_validate({"name": "desk", "domains": ("mcp",)})

TEXT: Mapping[str, Any] = {"type": "string"}
WHOLE: Mapping[str, Any] = {"type": "integer"}

TICKET: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "id": WHOLE,
        "team": TEXT,
        "title": TEXT,
        "body": {"anyOf": [TEXT, {"type": "null"}]},
        "state": {"type": "string", "enum": ["open", "closed"]},
        "points": WHOLE,
        "tags": {"type": "array", "items": TEXT},
        "author_id": TEXT,
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
    },
    "required": ["id", "team", "title", "state", "points", "created_at", "updated_at"],
    "additionalProperties": False,
}

USER: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "login": TEXT,
        "name": TEXT,
        "email": {"type": "string", "format": "email"},
    },
    "required": ["login", "name", "email"],
}


def takes(*required: str, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """An input schema."""
    return {"type": "object", "properties": properties, "required": list(required)}


LIST: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": TICKET},
        "total": WHOLE,
        "next": {"anyOf": [TEXT, {"type": "null"}]},
        "has_more": {"type": "boolean"},
    },
    "required": ["items", "total", "has_more"],
}

TOOLS = (
    ToolSpec(
        name="create_ticket",
        domain="mcp",
        input_schema=takes(
            "team",
            "title",
            team=TEXT,
            title=TEXT,
            body=TEXT,
            points={"type": "integer", "default": 1},
            tags={"type": "array", "items": TEXT},
        ),
        output_schema=TICKET,
    ),
    ToolSpec(
        name="get_ticket",
        domain="mcp",
        input_schema=takes("team", "id", team=TEXT, id=WHOLE),
        output_schema=TICKET,
    ),
    ToolSpec(
        name="list_tickets",
        domain="mcp",
        input_schema=takes(
            "team",
            team=TEXT,
            state={"type": "string", "enum": ["open", "closed", "all"], "default": "all"},
            tag=TEXT,
            min_points=WHOLE,
            sort=TEXT,
            direction={"type": "string", "enum": ["asc", "desc"]},
            limit={"type": "integer", "minimum": 1, "default": 3},
            cursor=TEXT,
            near=TEXT,
        ),
        output_schema=LIST,
    ),
    ToolSpec(
        name="search_tickets",
        domain="mcp",
        input_schema=takes("query", query=TEXT, offset=WHOLE, limit=WHOLE),
    ),
    ToolSpec(
        name="count_tickets",
        domain="mcp",
        input_schema=takes(team=TEXT, state={"type": "string"}),
        output_schema=takes("count", count=WHOLE),
    ),
    ToolSpec(
        name="update_ticket",
        domain="mcp",
        input_schema=takes(
            "team",
            "id",
            team=TEXT,
            id=WHOLE,
            title=TEXT,
            body={"anyOf": [TEXT, {"type": "null"}]},
            points=WHOLE,
        ),
        output_schema=TICKET,
    ),
    ToolSpec(
        name="close_ticket",
        domain="mcp",
        input_schema=takes("team", "id", team=TEXT, id=WHOLE),
        output_schema=TICKET,
    ),
    ToolSpec(
        name="score_ticket",
        domain="mcp",
        input_schema=takes("team", "id", "by", team=TEXT, id=WHOLE, by=WHOLE),
        output_schema=TICKET,
    ),
    ToolSpec(
        name="delete_tickets",
        domain="mcp",
        input_schema=takes("team", "ids", team=TEXT, ids={"type": "array", "items": WHOLE}),
        output_schema=takes("success", "message", success={"type": "boolean"}, message=TEXT),
    ),
    ToolSpec(
        name="save_user",
        domain="mcp",
        input_schema=takes("login", login=TEXT, name=TEXT),
        output_schema=USER,
    ),
    ToolSpec(name="add_user", domain="mcp", input_schema=takes("login", login=TEXT, name=TEXT)),
    ToolSpec(name="list_users", domain="mcp", input_schema=takes()),
)

_TEAM = Argument("scope", "team")
_ID = Argument("key", "id")

OPERATIONS = {
    one.tool: one
    for one in (
        Operation(
            tool="create_ticket",
            does="create",
            table="tickets",
            arguments={
                "team": _TEAM,
                **{name: Argument("field", name) for name in ("title", "body", "points", "tags")},
            },
            output=Output(schema=TICKET),
        ),
        Operation(
            tool="get_ticket",
            does="read",
            table="tickets",
            arguments={"team": _TEAM, "id": _ID},
            output=Output(schema=TICKET),
        ),
        Operation(
            tool="list_tickets",
            does="list",
            table="tickets",
            arguments={
                "team": _TEAM,
                "state": Argument("field", "state", values={"all": None}),
                "tag": Argument("field", "tags"),
                "min_points": Argument("field", "points", compare="at_least"),
                "sort": Argument("sort"),
                "direction": Argument("direction"),
                "limit": Argument("limit"),
                "cursor": Argument("cursor"),
                "near": Argument("unknown"),
            },
            output=Output(
                records="items", total="total", cursor="next", more="has_more", schema=LIST
            ),
        ),
        Operation(
            tool="search_tickets",
            does="search",
            table="tickets",
            arguments={
                "query": Argument("text"),
                "offset": Argument("offset"),
                "limit": Argument("limit"),
            },
        ),
        Operation(
            tool="count_tickets",
            does="count",
            table="tickets",
            arguments={"team": _TEAM, "state": Argument("field", "state")},
            output=Output(count="count"),
        ),
        Operation(
            tool="update_ticket",
            does="update",
            table="tickets",
            arguments={
                "team": _TEAM,
                "id": _ID,
                **{name: Argument("field", name) for name in ("title", "body", "points")},
            },
        ),
        Operation(
            tool="close_ticket",
            does="update",
            table="tickets",
            arguments={"team": _TEAM, "id": _ID},
            fixed={"state": "closed"},
            requires={"state == 'open'": "Ticket {id} is {state}"},
        ),
        Operation(
            tool="score_ticket",
            does="update",
            table="tickets",
            arguments={"team": _TEAM, "id": _ID, "by": Argument("unknown")},
            changes={"points": "points + by"},
            requires={"points + by >= 0": "Ticket {id} has only {points} points"},
        ),
        Operation(
            tool="delete_tickets",
            does="delete",
            table="tickets",
            arguments={"team": _TEAM, "ids": _ID},
        ),
        Operation(
            tool="save_user",
            does="upsert",
            table="users",
            arguments={"login": Argument("key", "login"), "name": Argument("field", "name")},
        ),
        Operation(
            tool="add_user",
            does="create",
            table="users",
            arguments={"login": Argument("key", "login"), "name": Argument("field", "name")},
        ),
        Operation(tool="list_users", does="list", table="users"),
    )
}

TICKETS = Table(
    name="tickets",
    key=("id",),
    scope=("team",),
    fields=TICKET["properties"],
    required=tuple(TICKET["required"]),
)

USERS = Table(
    name="users",
    key=("login",),
    fields=USER["properties"],
    required=tuple(USER["required"]),
    generated_key=False,
)

PLAN = Plan(operations=OPERATIONS, tables={"tickets": TICKETS, "users": USERS})


class PlannedEngine(TableEngine):
    """A table engine whose plan is written by hand."""

    def __init__(self, plan: Plan = PLAN, *, imaginer: Imaginer | None = None) -> None:
        super().__init__(operations=plan.operations, tables=plan.tables, imaginer=imaginer)
        self._given = plan

    def plan(self, tools: object) -> Plan:
        return self._given


def planned(
    *,
    records: Mapping[str, tuple[Mapping[str, Any], ...]] | None = None,
    generate: int | None = 0,
    plan: Plan = PLAN,
) -> Plan:
    """The plan, its tables beginning with these records."""
    from dataclasses import replace

    given = records or {}
    tables = {
        name: replace(table, records=given.get(name, ()), generate=generate)
        for name, table in plan.tables.items()
    }
    return replace(plan, tables=tables)


async def opened(
    plan: Plan = PLAN,
    *,
    seed: int = 0,
    imaginer: Imaginer | None = None,
    store: WorldStore | None = None,
    id: str | None = None,
    tools: tuple[ToolSpec, ...] = TOOLS,
) -> World:
    """A world with the desk's tools."""
    engine = PlannedEngine(plan, imaginer=imaginer)
    world = await World.create(SCENARIO, engines=[engine], seed=seed, store=store, id=id)
    world.add_tools(tools)
    return world


async def said(world: World, tool: str, /, **arguments: Any) -> Observation:
    """The answer to a call."""
    return (await world.step(ToolCall(tool, arguments))).observation


async def shown(world: World, tool: str, /, **arguments: Any) -> Any:
    """The structured answer to a call that must go well."""
    answer = await said(world, tool, **arguments)
    assert not answer.is_error, answer.text
    return answer.structured
