"""Arguments held against a tool's schema, and what the server's own SDK would say of them.

The Python SDK validates with pydantic and answers with pydantic's list of errors, the TypeScript SDK with
zod, an issue a line (measured with SDK 1.32 and zod 4.6). We have the schema only, and say the same of the
same arguments where JSON Schema sees a fault; where the server would have converted a value (`"3"` for a
number), we are stricter. Like zod, nothing is said of properties that the schema does not know, unless it
forbids them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from agentworld_sim.schema.compiled import certainly_fits

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

ValidationStyle = Literal["pydantic", "zod", "jsonschema"]

Path = Sequence[str | int]

SHOWN_CHARACTERS = 50
"""Of a value, in an error of pydantic's; longer ones lose their middle."""

ZOD = "MCP error -32602:"
"""How the TypeScript SDK begins an error result."""

_PYDANTIC_TYPES = {
    "string": ("string_type", "Input should be a valid string"),
    "integer": ("int_type", "Input should be a valid integer"),
    "number": ("float_type", "Input should be a valid number"),
    "boolean": ("bool_type", "Input should be a valid boolean"),
    "array": ("list_type", "Input should be a valid list"),
    "object": ("dict_type", "Input should be a valid dictionary"),
    "null": ("none_required", "Input should be None"),
}

_ZOD_LIMITS = {
    "minItems": "Too small: expected array to have >={} items",
    "maxItems": "Too big: expected array to have <={} items",
    "minLength": "Too small: expected string to have >={} characters",
    "maxLength": "Too big: expected string to have <={} characters",
    "minimum": "Too small: expected number to be >={}",
    "maximum": "Too big: expected number to be <={}",
    "exclusiveMinimum": "Too small: expected number to be >{}",
    "exclusiveMaximum": "Too big: expected number to be <{}",
    "multipleOf": "Invalid number: must be a multiple of {}",
    "pattern": "Invalid string: must match pattern /{}/",
}

_ZOD_FORMATS = {
    "uri": "URL",
    "email": "email address",
    "uuid": "UUID",
    "date-time": "ISO datetime",
    "date": "ISO date",
    "time": "ISO time",
    "ipv4": "IPv4 address",
    "ipv6": "IPv6 address",
}


class MalformedSchema(Exception):
    """A schema that no value can be held against; the text says what is wrong with it."""


class ValueTooComplex(Exception):
    """A value that cannot be held against a schema in reasonable time; others can."""


class Schema:
    """A JSON Schema, compiled when it is first needed."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self._validator: Validator | None = None

    def misfit(self, value: Any) -> str | None:
        """The first way in which `value` does not fit, or why none can be told; `None` when it fits."""
        try:
            return next((error.message for error in self.errors(value)), None)
        except MalformedSchema as error:
            return f"that schema is malformed: {error}"
        except ValueTooComplex as error:
            return f"it cannot be checked: {error}"

    def problem(self) -> str | None:
        """What makes the schema unusable; `None` when it is fine."""
        try:
            self._errors({})
        except (MalformedSchema, ValueTooComplex) as error:
            return str(error)
        return None

    def errors(self, value: Any) -> list[ValidationError]:
        """Every way in which `value` does not fit, in the order of the value.

        Raises:
            MalformedSchema: the schema cannot be used.
            ValueTooComplex: it cannot be used with this very value.
        """
        return [] if certainly_fits(self.content, value) else self._errors(value)

    def _errors(self, value: Any) -> list[ValidationError]:
        from referencing.exceptions import Unresolvable

        from agentworld_sim.schema.limits import TooComplex, errors_of

        if self._validator is None:
            self._validator = _validator(self.content)
        try:
            found = errors_of(self._validator, value)
        except TooComplex as error:
            # Whoever sends such a value must not spoil the tool for others.
            raise ValueTooComplex(str(error)) from None
        except Unresolvable as error:
            raise MalformedSchema(f"it refers to what is not in it: {error}") from None
        return sorted(found, key=lambda error: list(map(str, error.path)))


def argument_errors(tool: str, schema: Schema, arguments: Any) -> str | None:
    """What the tool would say of arguments that do not fit its schema; `None` when they fit.

    Raises:
        MalformedSchema: the schema cannot be used.
    """
    try:
        errors = schema.errors(arguments)
    except ValueTooComplex as error:
        return f"Input validation error: {error}"
    if not errors:
        return None
    match validation_style(schema.content):
        case "zod":
            return _zod_message(tool, schema.content, errors)
        case "jsonschema":
            return f"Input validation error: {errors[0].message}"
        case "pydantic":
            return _pydantic_message(tool, schema.content, errors)


def unknown_tool_error(tool: str, style: ValidationStyle) -> str | None:
    """What the server says of a tool that it does not have; `None` where it is an error of the protocol."""
    match style:
        case "zod":
            return f"{ZOD} Tool {tool} not found"
        case "pydantic":
            return f"Unknown tool: {tool}"
        case "jsonschema":
            return None


def validation_style(schema: Mapping[str, Any]) -> ValidationStyle:
    """Which library the server validates with, from what it wrote into its schemas.

    The TypeScript SDK names the dialect in each schema. The Python SDK's high-level server gives each a
    title that ends in `Arguments`, or for a tool without a title none at all, and a title to each
    argument. What carries the title of a model class, or was written by hand without any, is a low-level
    Python server, which validates with jsonschema.
    """
    if "$schema" in schema:
        return "zod"
    title = schema.get("title")
    if title is not None:
        return "pydantic" if str(title).endswith("Arguments") else "jsonschema"
    properties = cast("dict[str, Any]", schema.get("properties", {}))
    titled = any(isinstance(one, dict) and "title" in one for one in properties.values())
    return "pydantic" if titled or not properties else "jsonschema"


def _validator(schema: Mapping[str, Any]) -> Validator:
    # Imported late: it is needed at the first call only, and start-up is what users feel.
    import re

    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    from agentworld_sim.schema.limits import check_schema, limit_validator

    kind = validator_for(dict(schema), default=Draft202012Validator)
    try:
        check_schema(kind, dict(schema))
    except (SchemaError, re.error) as error:
        raise MalformedSchema(getattr(error, "message", str(error))) from None
    except RecursionError:
        raise MalformedSchema("it is nested too deeply") from None
    # An empty registry: the default one fetches remote `$ref`s over the network.
    return limit_validator(kind)(dict(schema), registry=Registry())


def _missing_name(error: ValidationError) -> str:
    """The property that is missing: jsonschema reports each as an error of its own."""
    given = cast("dict[str, object]", error.instance)
    missing = [name for name in cast("list[str]", error.validator_value) if name not in given]
    return next((one for one in missing if error.message.startswith(repr(one))), missing[0])


def _properties(error: ValidationError) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", error.schema).get("properties", {})


def _extra_names(error: ValidationError) -> list[str]:
    return [
        name for name in cast("dict[str, Any]", error.instance) if name not in _properties(error)
    ]


def _pydantic_message(
    tool: str, schema: Mapping[str, Any], errors: Sequence[ValidationError]
) -> str:
    faults = [fault for error in errors for fault in _pydantic_faults(error)]
    title = schema.get("title", f"{tool}Arguments")
    count = f"{len(faults)} validation error{'s' * (len(faults) > 1)}"
    return f"Error executing tool {tool}: {count} for {title}\n" + "\n".join(faults)


def _pydantic_faults(error: ValidationError) -> list[str]:
    path, value = list(error.absolute_path), cast("Any", error.instance)
    wanted: Any = error.validator_value
    if error.validator == "required" and isinstance(value, dict):
        path.append(_missing_name(error))
        given = cast("dict[str, Any]", value)
        return [_pydantic_fault(path, "Field required", "missing", given)]
    if error.validator == "type" and isinstance(wanted, str):
        kind, message = _PYDANTIC_TYPES.get(wanted, ("value_error", error.message))
        return [_pydantic_fault(path, message, kind, value)]
    if error.validator == "enum":
        *others, last = [repr(one) for one in wanted]
        expected = f"{', '.join(others)} or {last}" if others else last
        return [_pydantic_fault(path, f"Input should be {expected}", "literal_error", value)]
    if error.validator == "additionalProperties":
        words = "Extra inputs are not permitted", "extra_forbidden"
        return [_pydantic_fault([*path, one], *words, value[one]) for one in _extra_names(error)]
    return [_pydantic_fault(path, error.message, "value_error", value)]


def _pydantic_fault(path: Path, message: str, kind: str, value: object) -> str:
    shown = repr(value)
    if len(shown) > SHOWN_CHARACTERS:
        shown = f"{shown[:25]}...{shown[-24:]}"
    where = f"{'.'.join(map(str, path))}\n" if path else ""
    return (
        f"{where}  {message} [type={kind}, input_value={shown}, input_type={type(value).__name__}]"
    )


def _zod_message(tool: str, schema: Mapping[str, Any], errors: Sequence[ValidationError]) -> str:
    named = {tuple(error.absolute_path) for error in errors if error.validator == "enum"}
    issues = [
        _zod_issue(error)
        for error in errors
        # What is none of the names is not told to be of another type as well.
        if not (error.validator == "type" and tuple(error.absolute_path) in named)
    ]
    issues.sort(key=lambda issue: _place(schema, issue[0]))
    lines = [f"{text} at {_dotted(path)}" if path else text for path, text in issues]
    head = f"{ZOD} Input validation error: Invalid arguments for tool {tool}: "
    return head + "\n".join(dict.fromkeys(lines))


def _zod_issue(error: ValidationError) -> tuple[Path, str]:
    path, value = list(error.absolute_path), cast("object", error.instance)
    if error.validator == "required" and isinstance(value, dict):
        name = _missing_name(error)
        return [*path, name], _zod_missing(_properties(error).get(name))
    if error.validator == "additionalProperties" and isinstance(value, dict):
        extra = _extra_names(error)
        keys = ", ".join(json.dumps(name, ensure_ascii=False) for name in extra)
        return path, f"Unrecognized key{'s' * (len(extra) > 1)}: {keys}"
    return path, _zod_text(str(error.validator), error.validator_value, value)


def _zod_text(keyword: str, wanted: Any, value: object) -> str:
    match keyword:
        case "type":
            kind = wanted if isinstance(wanted, str) else " | ".join(map(str, wanted))
            if kind == "integer" and isinstance(value, float):
                return "Invalid input: expected int, received number"
            return f"Invalid input: expected {_zod_type(kind)}, received {_json_type(value)}"
        case "enum":
            options = "|".join(json.dumps(one, ensure_ascii=False) for one in wanted)
            if len(wanted) > 1:
                return f"Invalid option: expected one of {options}"
            return f"Invalid input: expected {options}"
        case "const":
            return f"Invalid input: expected {json.dumps(wanted, ensure_ascii=False)}"
        case "format":
            return f"Invalid {_ZOD_FORMATS.get(str(wanted), wanted)}"
        case _:
            return _ZOD_LIMITS.get(keyword, "Invalid input").format(wanted)


def _zod_missing(schema: object) -> str:
    """What is said when nothing is given where this schema stands."""
    content = cast("dict[str, Any]", schema if isinstance(schema, dict) else {})
    if "enum" in content:
        return _zod_text("enum", content["enum"], None)
    kind: object = content.get("type")
    if isinstance(kind, str):
        return f"Invalid input: expected {_zod_type(kind)}, received undefined"
    return "Invalid input"


def _zod_type(kind: str) -> str:
    return "number" if kind == "integer" else kind


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _place(schema: Any, path: Path) -> list[int]:
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


def _dotted(path: Path) -> str:
    return str(path[0]) + "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in path[1:]
    )
