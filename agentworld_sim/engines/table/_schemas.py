"""Reading JSON Schemas: references, alternatives, types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote

Schema = Mapping[str, Any]

_DEEPEST = 20


def resolved(schema: Any, roots: Sequence[Schema]) -> Schema:
    """`schema` with its own `$ref` followed and `allOf` folded in; nothing is ever fetched.

    Args:
        schema: A schema; `true` and what is no schema stand for any value.
        roots: Where references point into, tried in order.
    """
    for _ in range(_DEEPEST):
        if not isinstance(schema, Mapping):
            return {}
        held = cast("Schema", schema)
        if "$ref" in held:
            rest = {key: value for key, value in held.items() if key != "$ref"}
            found = _pointed(held["$ref"], roots)
            schema = {**found, **rest} if rest else found
        elif isinstance(held.get("allOf"), list):
            schema = _folded(held, roots)
        else:
            return held
    return {}


def types_of(schema: Schema) -> tuple[str, ...]:
    """The JSON types the schema allows, as far as it says; empty for any."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(cast("list[str]", kind))
    if "properties" in schema:
        return ("object",)
    if "items" in schema or "prefixItems" in schema:
        return ("array",)
    return ()


def alternatives(schema: Schema) -> list[Any]:
    """The schemas of `anyOf` or `oneOf`; empty when it has none."""
    for name in ("anyOf", "oneOf"):
        if isinstance(schema.get(name), list):
            return list(schema[name])
    return []


def alternative_types(schema: Any, roots: Sequence[Schema]) -> set[str]:
    """Every type that the schema or one of its alternatives allows; empty when it does not say."""
    own = resolved(schema, roots)
    kinds = set(types_of(own))
    if not kinds:
        for one in alternatives(own):
            kinds |= set(types_of(resolved(one, roots)))
    return kinds


def nullable(schema: Any, roots: Sequence[Schema]) -> bool:
    """Whether `null` fits."""
    own = resolved(schema, roots)
    listed = own.get("enum")
    if isinstance(listed, list):
        return None in cast("list[Any]", listed)
    return "null" in alternative_types(own, roots)


def not_null(schema: Any, roots: Sequence[Schema]) -> Schema:
    """The schema of the values that are not null: one alternative of several."""
    own = resolved(schema, roots)
    for one in alternatives(own):
        inner = resolved(one, roots)
        if types_of(inner) != ("null",):
            rest = {key: value for key, value in own.items() if key not in ("anyOf", "oneOf")}
            return not_null({**rest, **inner}, roots)
    return own


def properties_of(schema: Any, roots: Sequence[Schema]) -> Mapping[str, Any]:
    """The properties that an object's schema names."""
    held = resolved(schema, roots).get("properties")
    return cast("Mapping[str, Any]", held) if isinstance(held, Mapping) else {}


def at(schema: Any, path: str, roots: Sequence[Schema]) -> Schema:
    """The schema of what stands at a dotted path; empty when nothing says."""
    own = not_null(schema, roots)
    if not path:
        return own
    named = properties_of(own, roots)
    if path in named:
        return not_null(named[path], roots)
    first, dot, rest = path.partition(".")
    return at(named[first], rest, roots) if dot and first in named else {}


def _pointed(reference: Any, roots: Sequence[Schema]) -> Schema:
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    parts = [
        unquote(part).replace("~1", "/").replace("~0", "~") for part in reference[1:].split("/")
    ]
    for root in roots:
        found: Any = root
        for part in parts[1:]:
            found = cast("Schema", found).get(part) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            return cast("Schema", found)
    return {}


def _folded(schema: Schema, roots: Sequence[Schema]) -> dict[str, Any]:
    folded = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        inner = resolved(part, roots)
        properties = {**inner.get("properties", {}), **folded.get("properties", {})}
        required = list(dict.fromkeys([*folded.get("required", ()), *inner.get("required", ())]))
        folded = {**inner, **folded}
        if properties:
            folded["properties"] = properties
        if required:
            folded["required"] = required
    return folded
