"""Arguments against a tool's schema, in the words of the official TypeScript SDK.

That SDK validates with zod and says each issue in a line (measured with SDK 1.32 and zod 4.6). Like zod,
nothing is said of properties that the schema does not know, unless it forbids them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jsonschema import ValidationError

INVALID = "MCP error -32602: Input validation error: Invalid arguments for tool"

_FORMATS = {
    "uri": "URL",
    "email": "email address",
    "uuid": "UUID",
    "date-time": "ISO datetime",
    "date": "ISO date",
    "time": "ISO time",
    "ipv4": "IPv4 address",
    "ipv6": "IPv6 address",
}


def issues(tool: str, schema: Mapping[str, Any], errors: Iterable[ValidationError]) -> str:
    """What a server of that SDK says of arguments that do not fit.

    Args:
        tool: The tool's name.
        schema: Its input schema; issues come in the order of its properties.
        errors: In which ways the arguments do not fit; at least one.
    """
    found = list(errors)
    named = {tuple(error.absolute_path) for error in found if error.validator == "enum"}
    placed = [
        one
        for error in found
        # What is none of the names is not told to be of another type as well.
        if not (error.validator == "type" and tuple(error.absolute_path) in named)
        for one in _issues(error)
    ]
    placed.sort(key=lambda one: _place(schema, one[0]))
    lines = [f"{text} at {_dotted(path)}" if path else text for path, text in placed]
    return f"{INVALID} {tool}: " + "\n".join(dict.fromkeys(lines))


def not_found(tool: str) -> str:
    """What it says of a tool that it does not have; a result, not an error of the protocol."""
    return f"MCP error -32602: Tool {tool} not found"


def _place(schema: Any, path: list[str | int]) -> list[int]:
    """Where a path stands in the order of the schema's properties, at each depth."""
    place: list[int] = []
    for part in path:
        content = cast("dict[str, Any]", schema if isinstance(schema, dict) else {})
        if isinstance(part, int):
            place.append(part)
            schema = content.get("items")
        else:
            names = list(content.get("properties", {}))
            place.append(names.index(part) if part in names else len(names))
            schema = content.get("properties", {}).get(part)
    return place


def _issues(error: ValidationError) -> list[tuple[list[str | int], str]]:
    path = list(error.absolute_path)
    value = cast("object", error.instance)
    wanted: Any = error.validator_value
    if error.validator == "required" and isinstance(value, dict):
        given = cast("dict[str, object]", value)
        missing = [name for name in cast("list[str]", wanted) if name not in given]
        # jsonschema reports each missing name as an error of its own: take the one it names.
        name = next((one for one in missing if error.message.startswith(repr(one))), missing[0])
        properties = cast("Mapping[str, Any]", error.schema).get("properties", {})
        return [([*path, name], _missing(properties.get(name)))]
    if error.validator == "additionalProperties" and isinstance(value, dict):
        known = cast("Mapping[str, Any]", error.schema).get("properties", {})
        extra = [name for name in cast("dict[str, object]", value) if name not in known]
        keys = ", ".join(json.dumps(name, ensure_ascii=False) for name in extra)
        return [(path, f"Unrecognized key{'s' * (len(extra) > 1)}: {keys}")]
    return [(path, _text(str(error.validator), wanted, value))]


def _text(keyword: str, wanted: Any, value: object) -> str:
    match keyword:
        case "type":
            kind = wanted if isinstance(wanted, str) else " | ".join(map(str, wanted))
            if kind == "integer" and isinstance(value, float):
                return "Invalid input: expected int, received number"
            return f"Invalid input: expected {_expected(kind)}, received {_received(value)}"
        case "enum":
            options = "|".join(json.dumps(one, ensure_ascii=False) for one in wanted)
            return (
                f"Invalid option: expected one of {options}"
                if len(wanted) > 1
                else f"Invalid input: expected {options}"
            )
        case "const":
            return f"Invalid input: expected {json.dumps(wanted, ensure_ascii=False)}"
        case "minItems":
            return f"Too small: expected array to have >={wanted} items"
        case "maxItems":
            return f"Too big: expected array to have <={wanted} items"
        case "minLength":
            return f"Too small: expected string to have >={wanted} characters"
        case "maxLength":
            return f"Too big: expected string to have <={wanted} characters"
        case "minimum":
            return f"Too small: expected number to be >={wanted}"
        case "maximum":
            return f"Too big: expected number to be <={wanted}"
        case "exclusiveMinimum":
            return f"Too small: expected number to be >{wanted}"
        case "exclusiveMaximum":
            return f"Too big: expected number to be <{wanted}"
        case "multipleOf":
            return f"Invalid number: must be a multiple of {wanted}"
        case "pattern":
            return f"Invalid string: must match pattern /{wanted}/"
        case "format":
            return f"Invalid {_FORMATS.get(str(wanted), wanted)}"
        case _:
            return "Invalid input"


def _missing(schema: object) -> str:
    """What is said when nothing is given where this schema stands."""
    content = cast("dict[str, Any]", schema if isinstance(schema, dict) else {})
    if "enum" in content:
        return _text("enum", content["enum"], None)
    kind: object = content.get("type")
    if isinstance(kind, str):
        return f"Invalid input: expected {_expected(kind)}, received undefined"
    return "Invalid input"


def _expected(kind: str) -> str:
    return "number" if kind == "integer" else kind


def _received(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _dotted(path: list[str | int]) -> str:
    text = str(path[0])
    for part in path[1:]:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text
