"""JSON Schemas of tools: references, alternatives, types, and the shapes that inference reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote

Schema = Mapping[str, Any]

_DEEPEST = 20

NODES = 20_000
"""How many schemas within one are looked at: references can multiply without bound."""


def resolve_schema(
    schema: Any,
    roots: Sequence[Schema] = (),
    *,
    depth: int = _DEEPEST,
    budget: Iterator[int] | None = None,
) -> Schema:
    """`schema` with its own `$ref` followed into one of `roots` and `allOf` folded in; nothing is ever
    fetched. `true` and what is no schema stand for any value. `budget` is of a whole larger schema."""
    budget = budget or iter(range(NODES))
    for _ in range(_DEEPEST):
        if not isinstance(schema, Mapping) or depth <= 0 or next(budget, None) is None:
            return {}
        held = cast("Schema", schema)
        if "$ref" in held:
            rest = {key: value for key, value in held.items() if key != "$ref"}
            found = _resolve_pointer(held["$ref"], roots)
            schema = {**found, **rest} if rest else found
        elif isinstance(held.get("allOf"), list):
            schema = _fold_all_of(held, roots, depth - 1, budget)
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


def alternative_types(schema: Any, roots: Sequence[Schema] = ()) -> set[str]:
    """Every type that the schema or one of its alternatives allows; empty when it does not say."""
    own = resolve_schema(schema, roots)
    kinds = set(types_of(own))
    if not kinds:
        for one in alternatives(own):
            kinds |= set(types_of(resolve_schema(one, roots)))
    return kinds


def nullable(schema: Any, roots: Sequence[Schema] = ()) -> bool:
    """Whether `null` fits."""
    own = resolve_schema(schema, roots)
    listed = own.get("enum")
    if isinstance(listed, list):
        return None in cast("list[Any]", listed)
    return "null" in alternative_types(own, roots)


def not_null(schema: Any, roots: Sequence[Schema] = ()) -> Schema:
    """The schema of the values that are not null: one alternative of several."""
    own = resolve_schema(schema, roots)
    for one in alternatives(own):
        inner = resolve_schema(one, roots)
        if types_of(inner) != ("null",):
            rest = {key: value for key, value in own.items() if key not in ("anyOf", "oneOf")}
            return not_null({**rest, **inner}, roots)
    return own


def properties_of(schema: Any, roots: Sequence[Schema] = ()) -> Mapping[str, Any]:
    """The properties that an object's schema names."""
    held = resolve_schema(schema, roots).get("properties")
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


def _resolve_pointer(reference: Any, roots: Sequence[Schema]) -> Schema:
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


def _fold_all_of(
    schema: Schema, roots: Sequence[Schema], depth: int, budget: Iterator[int]
) -> dict[str, Any]:
    folded = {key: value for key, value in schema.items() if key != "allOf"}
    for part in schema["allOf"]:
        inner = resolve_schema(part, roots, depth=depth, budget=budget)
        properties = {**inner.get("properties", {}), **folded.get("properties", {})}
        required = list(dict.fromkeys([*folded.get("required", ()), *inner.get("required", ())]))
        folded = {**inner, **folded}
        if properties:
            folded["properties"] = properties
        if required:
            folded["required"] = required
    return folded


def mapping(value: object) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


Shape = Mapping[str, Any]
"""A JSON Schema as far as inference looks at it, with its references to its own document put in."""

DEPTH = 8
"""How deep shapes are looked into."""

_KEPT = frozenset(
    "type enum const format properties required items additionalProperties anyOf oneOf description"
    " default examples minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength"
    " maxLength pattern minItems maxItems uniqueItems".split()
)
"""What a shape keeps of a schema: nothing else can refer to anything."""


def shape(schema: object) -> dict[str, Any]:
    """A schema with what it refers to put in, its `allOf` merged and `null` left aside."""
    return _ShapeBuilder(mapping(schema)).shape(schema, DEPTH)


class _ShapeBuilder:
    """Shapes one document."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.roots = (root,)
        self.budget = iter(range(NODES))

    def shape(self, schema: object, depth: int) -> dict[str, Any]:
        found = dict(resolve_schema(schema, self.roots, budget=self.budget))
        if depth <= 0 or next(self.budget, None) is None:
            return {key: found[key] for key in ("type", "enum", "format") if key in found}
        for key in ("anyOf", "oneOf"):
            if isinstance(found.get(key), list):
                found = self._without_null(found, key, depth)
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

    def _without_null(self, schema: dict[str, Any], key: str, depth: int) -> dict[str, Any]:
        arms = [self.shape(arm, depth - 1) for arm in items_of(schema[key])]
        real = [arm for arm in arms if arm.get("type") != "null" and arm != {"const": None}]
        rest = {name: value for name, value in schema.items() if name != key}
        if len(real) == 1:
            return _merge(real[0], rest)
        if real and all(enum_of(arm) for arm in real):
            return {**rest, "enum": [value for arm in real for value in enum_of(arm)]}
        return {**rest, key: real} if real else rest


def _merge(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**one, **other}
    if "properties" in one and "properties" in other:
        merged["properties"] = {**mapping(one["properties"]), **mapping(other["properties"])}
    if "required" in one and "required" in other:
        merged["required"] = [*required_properties(one), *required_properties(other)]
    return merged


def properties(schema: object) -> dict[str, dict[str, Any]]:
    """The properties of an object's schema."""
    return {name: mapping(one) for name, one in mapping(mapping(schema).get("properties")).items()}


def required_properties(schema: Shape) -> tuple[str, ...]:
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
