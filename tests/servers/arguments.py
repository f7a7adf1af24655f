"""Arguments for a tool from its schema: valid ones, and ones that are wrong in every way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, cast

Schema = Mapping[str, Any]

_WORDS = (
    "a",
    "main.py",
    "HEAD",
    "Größe 名 \U0001f600",
    "x y",
    "../up",
    "-1",
    "'; DROP TABLE t; --",
    "",
)
_WRONG: Mapping[str, tuple[Any, ...]] = {
    "string": (1, None, ["a"], {"a": 1}, True),
    "number": ("one", None, [1], {}, "1"),
    "integer": ("one", None, 1.5, [1], {}),
    "boolean": ("yes", None, 1, []),
    "array": ("a", None, {"0": "a"}, 1),
    "object": ("a", None, [1], 1),
}


def valid(schema: Schema, random: Random) -> Any:
    """A value that fits `schema`."""
    for key in ("const", "default"):
        if key in schema and (key == "const" or random.random() < 0.3):
            return schema[key]
    if "enum" in schema:
        return random.choice(schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return valid(random.choice(schema[key]), random)
    match kind(schema):
        case "string":
            if schema.get("format") == "uri":
                return "https://example.com/page"
            word = random.choice(_WORDS)
            return word + "x" * max(0, schema.get("minLength", 0) - len(word))
        case "integer":
            return _number(schema, random)
        case "number":
            return _number(schema, random)
        case "boolean":
            return random.random() < 0.5
        case "array":
            least = schema.get("minItems", 0)
            count = random.randint(least, min(least + 3, schema.get("maxItems", least + 3)))
            return [valid(schema.get("items", {}), random) for _ in range(count)]
        case "object":
            properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
            required = schema.get("required", ())
            return {
                name: valid(one, random)
                for name, one in properties.items()
                if name in required or random.random() < 0.5
            }
        case _:
            return random.choice(_WORDS)


def kind(schema: Schema) -> str:
    """The type a schema asks for; empty for any."""
    named: object = schema.get("type", "")
    return named if isinstance(named, str) else str(cast("list[object]", named)[0])


def wrong(schema: Schema, random: Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Arguments with one thing wrong or strange each, and what it is."""
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    whole = {name: valid(one, random) for name, one in properties.items()}
    for name in schema.get("required", ()):
        yield f"missing {name}", {key: one for key, one in whole.items() if key != name}
    for name, one in properties.items():
        for value in _WRONG.get(kind(one), ()):
            yield f"{name} is {value!r}", {**whole, name: value}
        if "enum" in one:
            yield f"{name} is none of the names", {**whole, name: "none of the names"}
        if kind(one) == "string" and "enum" not in one:
            yield f"{name} is huge", {**whole, name: "x" * 300_000}
            yield f"{name} is strange", {**whole, name: "\u202e\u200b\x07名\U0001f600\n\t\0"}
        if kind(one) in ("integer", "number"):
            yield f"{name} is enormous", {**whole, name: 10**15}
            yield f"{name} is negative", {**whole, name: -1}
    yield "one too many", {**whole, "not_an_argument": 1}


def _number(schema: Schema, random: Random) -> int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", low + 10)
    return random.randint(int(low) + 1, max(int(low) + 1, int(high)))
