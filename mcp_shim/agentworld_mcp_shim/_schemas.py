"""Arguments against a tool's schema, in the words of the server's own SDK.

The TypeScript SDK's words are in `_zod`. The Python SDK validates with pydantic, so its answer to bad arguments is pydantic's list of errors. We have the
schema only, not the pydantic model behind it, and say the same of the same arguments where JSON Schema
sees a fault; where the server would have converted a value (`"3"` for a number), we are stricter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from agentworld_mcp_shim._zod import issues

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

ValidationStyle = Literal["pydantic", "zod", "jsonschema"]

SHOWN_CHARACTERS = 50
"""Of a value, in an error; longer ones lose their middle."""

_EXPECTED = {
    "string": ("string_type", "Input should be a valid string"),
    "integer": ("int_type", "Input should be a valid integer"),
    "number": ("float_type", "Input should be a valid number"),
    "boolean": ("bool_type", "Input should be a valid boolean"),
    "array": ("list_type", "Input should be a valid list"),
    "object": ("dict_type", "Input should be a valid dictionary"),
    "null": ("none_required", "Input should be None"),
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
        """The first way in which `value` does not fit; `None` when it does.

        Raises:
            MalformedSchema: the schema cannot be used.
        """
        return next((error.message for error in self.errors(value)), None)

    def problem(self) -> str | None:
        """What makes the schema unusable; `None` when it is fine."""
        try:
            self.errors({})
        except (MalformedSchema, ValueTooComplex) as error:
            return str(error)
        return None

    def errors(self, value: Any) -> list[ValidationError]:
        """Every way in which `value` does not fit, in the order of the value.

        Raises:
            MalformedSchema: the schema cannot be used.
            ValueTooComplex: it cannot be used with this very value.
        """
        from referencing.exceptions import Unresolvable

        from agentworld_sim.schema.limits import TooComplex, errors_of

        if self._validator is None:
            self._validator = _compiled(self.content)
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
            return issues(tool, schema.content, errors)
        case "jsonschema":
            return f"Input validation error: {errors[0].message}"
        case "pydantic":
            faults = [fault for error in errors for fault in _faults(error)]
    title = schema.content.get("title", f"{tool}Arguments")
    count = f"{len(faults)} validation error{'s' * (len(faults) > 1)}"
    return f"Error executing tool {tool}: {count} for {title}\n" + "\n".join(faults)


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


def _compiled(schema: Mapping[str, Any]) -> Validator:
    # Imported late: it is needed at the first call only, and start-up is what users feel.
    import re

    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry

    from agentworld_sim.schema.limits import check_schema, limited

    kind = validator_for(dict(schema), default=Draft202012Validator)
    try:
        check_schema(kind, dict(schema))
    except (SchemaError, re.error) as error:
        raise MalformedSchema(getattr(error, "message", str(error))) from None
    except RecursionError:
        raise MalformedSchema("it is nested too deeply") from None
    # An empty registry: the default one fetches remote `$ref`s over the network.
    return limited(kind)(dict(schema), registry=Registry())


def _faults(error: ValidationError) -> list[str]:
    """One or more of pydantic's paragraphs about one error."""
    path = [str(part) for part in error.absolute_path]
    value = cast("object", error.instance)
    if error.validator == "required" and isinstance(value, dict):
        given = cast("dict[str, object]", value)
        missing = [name for name in cast("list[str]", error.validator_value) if name not in given]
        # jsonschema reports each missing name as an error of its own: take the one it names.
        name = next((one for one in missing if error.message.startswith(repr(one))), missing[0])
        return [_fault([*path, name], "Field required", "missing", given)]
    if error.validator == "type" and isinstance(error.validator_value, str):
        kind, message = _EXPECTED.get(error.validator_value, ("value_error", error.message))
        return [_fault(path, message, kind, value)]
    if error.validator == "enum":
        values = [repr(one) for one in cast("list[object]", error.validator_value)]
        last = values.pop()
        expected = f"{', '.join(values)} or {last}" if values else last
        return [_fault(path, f"Input should be {expected}", "literal_error", value)]
    if error.validator == "additionalProperties":
        known = cast("Mapping[str, Any]", error.schema).get("properties", {})
        given = cast("dict[str, object]", value)
        return [
            _fault([*path, name], "Extra inputs are not permitted", "extra_forbidden", given[name])
            for name in given
            if name not in known
        ]
    return [_fault(path, error.message, "value_error", value)]


def _fault(path: list[str], message: str, kind: str, value: object) -> str:
    shown = repr(value)
    if len(shown) > SHOWN_CHARACTERS:
        shown = f"{shown[:25]}...{shown[-24:]}"
    where = f"{'.'.join(path)}\n" if path else ""
    tail = f"[type={kind}, input_value={shown}, input_type={type(value).__name__}]"
    return f"{where}  {message} {tail}"
