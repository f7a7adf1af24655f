"""JSON Schemas as far as inference looks at them. Whatever is not understood is an empty schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

Shape = Mapping[str, Any]
"""A JSON Schema with its references to its own document put in."""

DEPTH = 8
"""How deep schemas are looked into."""

NODES = 20_000
"""How many schemas within one are looked at."""

_KEPT = frozenset(
    "type enum const format properties required items additionalProperties anyOf oneOf description"
    " default examples minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength"
    " maxLength pattern minItems maxItems uniqueItems".split()
)
"""What a shape keeps of a schema: nothing else can refer to anything."""


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def shape(schema: object) -> dict[str, Any]:
    """A schema with what it refers to put in, its `allOf` merged and `null` left aside."""
    return _Shaping(mapping(schema)).shape(schema, DEPTH)


class _Shaping:
    """Shapes one document. What it may do is counted: references can multiply without bound."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.left = NODES

    def shape(self, schema: object, depth: int) -> dict[str, Any]:
        self.left -= 1
        found = self._deref(mapping(schema))
        if depth <= 0 or self.left <= 0:
            return {key: found[key] for key in ("type", "enum", "format") if key in found}
        for key in ("anyOf", "oneOf"):
            if isinstance(found.get(key), list):
                found = self._without_null(found, key, depth)
        for part in items_of(found.pop("allOf", None)):
            found = _merged(found, self.shape(part, depth - 1))
        kinds = [kind for kind in items_of(found.get("type")) if kind != "null"]
        if kinds:
            found["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "properties" in found:
            found["properties"] = {
                name: self.shape(one, depth - 1)
                for name, one in mapping(found["properties"]).items()
            }
        for key in ("items", "additionalProperties"):
            if isinstance(found.get(key), dict):
                found[key] = self.shape(found[key], depth - 1)
        return {key: value for key, value in found.items() if key in _KEPT}

    def _deref(self, schema: dict[str, Any]) -> dict[str, Any]:
        found = dict(schema)
        for _ in range(DEPTH):
            reference = found.pop("$ref", None)
            if not isinstance(reference, str):
                break
            found = {**self._pointed(reference), **found}
        found.pop("$ref", None)
        return found

    def _pointed(self, reference: str) -> dict[str, Any]:
        if not reference.startswith("#/"):
            return {}
        found: object = self.root
        for part in reference[2:].split("/"):
            found = mapping(found).get(part.replace("~1", "/").replace("~0", "~"))
        return mapping(found)

    def _without_null(self, schema: dict[str, Any], key: str, depth: int) -> dict[str, Any]:
        arms = [self.shape(arm, depth - 1) for arm in items_of(schema[key])]
        real = [arm for arm in arms if arm.get("type") != "null" and arm != {"const": None}]
        rest = {name: value for name, value in schema.items() if name != key}
        if len(real) == 1:
            return _merged(real[0], rest)
        if real and all(enum_of(arm) for arm in real):
            return {**rest, "enum": [value for arm in real for value in enum_of(arm)]}
        return {**rest, key: real} if real else rest


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**mapping(one["properties"]), **mapping(other["properties"])}
    if "required" in one and "required" in other:
        merged["required"] = [*required(one), *required(other)]
    return merged


def properties(schema: object) -> dict[str, dict[str, Any]]:
    """The properties of an object's schema."""
    return {name: mapping(one) for name, one in mapping(mapping(schema).get("properties")).items()}


def required(schema: Shape) -> tuple[str, ...]:
    """The properties that an object must have."""
    return tuple(name for name in items_of(schema.get("required")) if isinstance(name, str))


def kind_of(schema: Shape) -> str:
    """The JSON type of a schema's values; empty where it is open."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    values = enum_of(schema)
    if values and all(isinstance(value, str) for value in values):
        return "string"
    return "object" if "properties" in schema else "array" if "items" in schema else ""


def enum_of(schema: Shape) -> tuple[Any, ...]:
    """The values that a schema lists."""
    if "const" in schema:
        return (schema["const"],)
    return tuple(value for value in items_of(schema.get("enum")) if value is not None)


def item_of(schema: Shape) -> dict[str, Any]:
    """The schema of an array's items."""
    return mapping(schema.get("items"))


def is_records(schema: Shape) -> bool:
    """Whether a schema is of a list of objects with properties."""
    return kind_of(schema) == "array" and bool(properties(item_of(schema)))


def unsaid_result(schema: Shape) -> str | None:
    """The one property of an output schema that says nothing of what it holds: `{"result": string}`.

    Servers in Python make such a schema for every tool that gives a text, or values of any kind.
    """
    named = properties(schema)
    if list(named) != ["result"] or kind_of(schema) not in ("object", ""):
        return None
    inner = named["result"]
    if kind_of(inner) == "array":
        item = item_of(inner)
        return "result" if kind_of(item) in ("object", "") and not properties(item) else None
    unsaid = kind_of(inner) in ("string", "object", "") and not enum_of(inner)
    alternatives = [kind_of(one) for key in ("anyOf", "oneOf") for one in items_of(inner.get(key))]
    unsaid = unsaid and (not alternatives or "string" in alternatives)
    return "result" if unsaid and not properties(inner) else None


def is_object(schema: Shape) -> bool:
    """Whether a schema is of an object with properties."""
    return kind_of(schema) == "object" and bool(properties(schema))
