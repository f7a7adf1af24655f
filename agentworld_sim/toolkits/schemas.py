"""Short forms of the JSON Schemas that tools publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STRING: Mapping[str, Any] = {"type": "string"}
INTEGER: Mapping[str, Any] = {"type": "integer"}
NUMBER: Mapping[str, Any] = {"type": "number"}
BOOLEAN: Mapping[str, Any] = {"type": "boolean"}
STRINGS: Mapping[str, Any] = {"type": "array", "items": STRING}


def schema(required: str = "", /, **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object schema; `required` lists argument names, separated by spaces."""
    return {"type": "object", "properties": properties, "required": required.split()}


def nullable(kind: Mapping[str, Any]) -> Mapping[str, Any]:
    """An optional argument that may also be given as `null`, as Python tools publish it."""
    return {"anyOf": [kind, {"type": "null"}]}
