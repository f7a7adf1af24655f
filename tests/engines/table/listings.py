"""The corpus of tool listings in `tests/data/listings`, and plans written as that data is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentworld_sim.engines.table import Argument, Output, Plan
from agentworld_sim.types.tools import ToolSpec

FOLDER = Path(__file__).parents[2] / "data" / "listings"
LISTINGS: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted(FOLDER.glob("*.json"))
}
SHOWN = (
    *("record", "records", "total", "count", "cursor", "more", "values"),
    *("fixed", "arguments", "message"),
)


def specs(listing: str) -> list[ToolSpec]:
    """The tools of a listing as a mirror gives them to a world."""
    return [
        ToolSpec(
            name=tool["name"],
            description=tool["description"],
            input_schema=tool["inputSchema"],
            output_schema=tool.get("outputSchema"),
            annotations=tool.get("annotations", {}),
            domain="mcp",
        )
        for tool in LISTINGS[listing]["tools"]
    ]


def bound(tools: list[ToolSpec], plan: Plan) -> list[ToolSpec]:
    """The tools as they are once the table engine has them."""
    return [
        replace(tool, binds_to=f"table/{operation.does}:{operation.table}")
        if (operation := plan.operations.get(tool.name)) is not None
        else tool
        for tool in tools
    ]


def written(plan: Plan) -> dict[str, Any]:
    """A plan as the corpus writes it."""
    return {
        "operations": {
            name: _without_empty(
                {
                    "does": one.does,
                    "table": one.table,
                    "arguments": {arg: _argument(role) for arg, role in one.arguments.items()},
                    "output": _output(one.output),
                    "fixed": dict(one.fixed),
                }
            )
            for name, one in plan.operations.items()
        },
        "tables": {
            name: {
                "key": list(table.key),
                "scope": list(table.scope),
                "fields": list(table.fields),
                "required": list(table.required),
                "parents": dict(table.parents),
                "generated_key": table.generated_key,
            }
            for name, table in plan.tables.items()
        },
    }


def _argument(argument: Argument) -> Any:
    found = _without_empty(
        {
            "role": argument.role,
            "field": argument.field,
            "compare": "" if argument.compare == "equal" else argument.compare,
            "first": argument.first,
            "values": dict(argument.values),
            "fields": dict(argument.fields),
        }
    )
    return found if len(found) > 1 else argument.role


def _output(output: Output) -> dict[str, Any]:
    found = {name: getattr(output, name) for name in SHOWN}
    return {
        name: dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownArgumentType]
        for name, value in found.items()
        if value not in (None, "", {})
    }


def _without_empty(value: dict[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if one not in (0, "", {})}
