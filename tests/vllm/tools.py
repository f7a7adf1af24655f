"""Tools that no engine computes."""

from __future__ import annotations

from typing import Any, Final

from agentworld_sim import ToolCall, ToolSpec

ORDER_INPUT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "q": {"type": "string"}},
    "required": ["id"],
}
ORDER: Final = ToolSpec(
    name="get_order", description="An order by its number.", input_schema=ORDER_INPUT
)
TYPED: Final = ToolSpec(
    name="get_order",
    description="An order by its number.",
    input_schema=ORDER_INPUT,
    output_schema={
        "type": "object",
        "properties": {
            "status": {"enum": ["open", "closed", "shipped"]},
            "total": {"type": "integer", "minimum": 0, "maximum": 999},
            # The tiny model does not always end a string by itself.
            "note": {"type": "string", "maxLength": 20},
        },
        "required": ["status", "total", "note"],
        "additionalProperties": False,
    },
)
ENDLESS: Final = ToolSpec(
    name="chain",
    input_schema={"type": "object"},
    output_schema={
        "type": "object",
        "properties": {"name": {"type": "string", "maxLength": 3}, "next": {"$ref": "#"}},
        "required": ["name", "next"],
        "additionalProperties": False,
    },
)
"""No answer that fits this ever ends, so that a step lasts until its limit."""


def order(number: int, **arguments: Any) -> ToolCall:
    return ToolCall("get_order", {"id": number, **arguments})
