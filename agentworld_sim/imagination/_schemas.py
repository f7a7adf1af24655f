"""What a server can hold an answer to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolSpec

_SHARED = ("$defs", "definitions")
"""Keys whose content references point to, from the root of a schema."""

ERROR_ENVELOPE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "isError": {"const": True},
        "content": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
                "required": ["type", "text"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["isError", "content"],
    "additionalProperties": False,
}
"""What a tool with an output schema says instead when it fails."""


def enforceable(tool: ToolSpec) -> Mapping[str, Any] | None:
    """The schema of all that `tool` may answer; `None` when it promises nothing."""
    if tool.output_schema is None:
        return None
    own = dict(tool.output_schema)
    shared = {key: own.pop(key) for key in _SHARED if key in own}
    if '"$ref":"#' in canonical_json(own) and not shared:
        # It refers to its own root, which would be another one inside of `anyOf`.
        return tool.output_schema
    return {"anyOf": [own, ERROR_ENVELOPE], **shared}
