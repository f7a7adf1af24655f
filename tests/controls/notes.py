"""A world of two tools: one adds a line, one reads all."""

from __future__ import annotations

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
from agentworld_sim.types import Conditions

Values = Mapping[str, Any]


def append(arguments: Mapping[str, Any], values: Values) -> tuple[Observation, dict[str, Any]]:
    lines = [*values.get("lines", []), arguments["line"]]
    return Observation(text=f"line {len(lines)}"), {"lines": lines}


def read(arguments: Mapping[str, Any], values: Values) -> Observation:
    if Conditions.of(values).offline:
        return Observation(text="the network is down", is_error=True)
    return Observation(text=",".join(values.get("lines", [])))


def notes(
    *controls: Control, store: MemoryStore | None = None, engine: FunctionEngine | None = None
) -> Any:
    schema = {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]}
    scenario = {
        "name": "notes",
        "domains": ["mcp"],
        "tools": [{"name": "append", "input_schema": schema}, {"name": "read"}],
    }
    return World.create(
        Scenario.model_validate(scenario),
        id="notes",
        store=store,
        engines=[engine or ENGINE],
        controls=controls,
    )


ENGINE = FunctionEngine({"append": append, "read": read})
READ = ToolCall("read")


def adding(line: str) -> ToolCall:
    return ToolCall("append", {"line": line})


async def said(world: World, call: ToolCall) -> str:
    return (await world.step(call)).observation.text
