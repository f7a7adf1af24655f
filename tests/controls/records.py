"""A world of records for the tests of controls: some are there, more can be added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentworld_sim import (
    Control,
    FunctionEngine,
    MemoryStore,
    Observation,
    Scenario,
    ToolCall,
    World,
)

Values = Mapping[str, Any]

TOOLS: list[dict[str, Any]] = [
    {
        "name": "add",
        "input_schema": {
            "type": "object",
            "properties": {"items": {"type": "array"}, "note": {"type": "string"}},
            "required": ["items"],
        },
    },
    {"name": "items"},
    {"name": "order", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
    {"name": "report"},
    {"name": "login"},
]

ORDER: dict[str, Any] = {
    "id": 7,
    "customer": {"email": "ann@example.com", "name": "Ann Müller"},
    "price": 12.5,
    "paid": True,
    "date": "2026-03-02",
}

REPORT = "Report\nprice: 12.5 EUR\ncode word: swordfish\nowner = Ann\n" + "line\n" * 60


def add(arguments: Values, values: Values) -> tuple[Observation, Values]:
    items = [*values.get("items", []), *arguments["items"]]
    text = json.dumps({"added": len(arguments["items"]), "total": len(items)})
    return Observation(text=text), {"items": items}


def items(arguments: Values, values: Values) -> Observation:
    held = values.get("items", [])
    return Observation(text=json.dumps(held), structured={"items": held})


def order(arguments: Values, values: Values) -> Observation:
    return Observation(text=json.dumps(ORDER, indent=2), structured=ORDER)


ENGINE = FunctionEngine(
    {
        "add": add,
        "items": items,
        "order": order,
        "report": lambda arguments, values: REPORT,
        "login": lambda arguments, values: "welcome",
    }
)

ITEMS, REPORT_CALL, LOGIN = ToolCall("items"), ToolCall("report"), ToolCall("login")


def adding(*items: str) -> ToolCall:
    return ToolCall("add", {"items": list(items)})


def ordering(n: int = 1) -> ToolCall:
    return ToolCall("order", {"n": n})


def records_scenario(*controls: Mapping[str, Any] | str, seed: int = 0) -> Scenario:
    return Scenario.model_validate(
        {"name": "r", "domains": ["mcp"], "tools": TOOLS, "controls": controls, "seed": seed}
    )


async def records(
    *controls: Control | str, seed: int = 0, store: MemoryStore | None = None
) -> World:
    return await World.create(
        records_scenario(seed=seed), engines=[ENGINE], controls=controls, store=store
    )


async def texts(world: World, *calls: ToolCall) -> list[str]:
    return [(await world.step(call)).observation.text for call in calls]


async def held(world: World) -> list[str]:
    return list((await world.state()).values.get("items", []))
