"""Short forms of the JSON Schemas that tools publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STRING: Mapping[str, Any] = {"type": "string"}
STRINGS: Mapping[str, Any] = {"type": "array", "items": STRING}
BOOLEAN: Mapping[str, Any] = {"type": "boolean"}

_KINDS: Mapping[str, Mapping[str, Any]] = {
    "": STRING,
    "strings": STRINGS,
    **{
        name: {"type": name}
        for name in ("string", "integer", "number", "boolean", "object", "array")
    },
}


def arguments(text: str = "", /, **kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an object, in words: `"path head?:number paths:strings timeout?:integer|null"`.

    Args:
        text: The names, separated by spaces. A `?` follows one that may be left out; after a colon comes
            its type where that is no plain string, or the words that it may be, separated by commas;
            `|null` follows where `null` may be given too, as Python tools publish it.
        kinds: The schemas of names whose type has no word.
    """
    properties: dict[str, Mapping[str, Any]] = {}
    required: list[str] = []
    for word in text.split():
        name, _, kind = word.partition(":")
        plain, nullable, _ = kind.partition("|null")
        if not name.endswith("?"):
            required.append(name)
        name = name.removesuffix("?")
        words = {"type": "string", "enum": plain.split(",")}
        schema = kinds[name] if name in kinds else words if "," in plain else _KINDS[plain]
        properties[name] = {"anyOf": [schema, {"type": "null"}]} if nullable else schema
    return {"type": "object", "properties": properties, "required": required}


def objects(text: str, /, **kinds: Mapping[str, Any]) -> Mapping[str, Any]:
    """A list of objects, each as `arguments` says."""
    return {"type": "array", "items": arguments(text, **kinds)}
