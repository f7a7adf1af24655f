"""Short forms of the JSON Schemas that tools publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STRING: Mapping[str, Any] = {"type": "string"}
INTEGER: Mapping[str, Any] = {"type": "integer"}
NUMBER: Mapping[str, Any] = {"type": "number"}
BOOLEAN: Mapping[str, Any] = {"type": "boolean"}
STRINGS: Mapping[str, Any] = {"type": "array", "items": STRING}

_KINDS: Mapping[str, Mapping[str, Any]] = {
    "": STRING,
    "int": INTEGER,
    "number": NUMBER,
    "bool": BOOLEAN,
    "strings": STRINGS,
    "array": {"type": "array"},
    "object": {"type": "object"},
}


def schema(arguments: str = "", /, **others: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object schema.

    Args:
        arguments: Separated by spaces, each as in the table of bindings: `path`, `offset?` for one that may be
            left out, `offset?:number` for one that is no text, `offset?:number|null` where `null` stands for
            leaving it out, as in Python tools.
        others: Schemas of arguments that have their own.
    """
    properties: dict[str, Any] = {}
    required: list[str] = []
    for argument in arguments.split():
        name, _, kind = argument.partition(":")
        if not name.endswith("?"):
            required.append(name)
        name = name.removesuffix("?")
        own = others.get(name, _KINDS[kind.removesuffix("|null")])
        properties[name] = {"anyOf": [own, {"type": "null"}]} if kind.endswith("|null") else own
    return {"type": "object", "properties": properties, "required": required}
