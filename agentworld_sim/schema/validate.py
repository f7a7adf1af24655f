"""Arguments and answers held against a tool's JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.errors import ArgumentsError, UsageError, nearest
from agentworld_sim.schema.compiled_schemas import certainly_fits
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


class MalformedSchema(UsageError):
    """A schema that no value can be held against."""


def check_arguments(tool: ToolSpec, arguments: Mapping[str, Any]) -> None:
    """Raises `ArgumentsError`, naming the argument, when `arguments` do not fit the tool's schema."""
    if fits_plainly(tool.input_schema, arguments) or certainly_fits(tool.input_schema, arguments):
        return
    from agentworld_sim.schema.limits import TooComplex

    try:
        error = _first_error(tool.input_schema, arguments)
    except TooComplex as problem:
        raise ArgumentsError(f"{tool.name!r} does not take these arguments: {problem}.") from None
    if error is None:
        return
    where = ".".join(str(part) for part in error.absolute_path)
    known = list(cast("Mapping[str, Any]", tool.input_schema.get("properties", {})))
    message = f"{tool.name!r} does not take these arguments: {error.message}"
    if where:
        message += f" (at {where!r})"
    unknown = [name for name in arguments if name not in known]
    if known:
        message += f". It takes {', '.join(map(repr, known))}."
        if unknown:
            message += nearest(unknown[0], known)
    raise ArgumentsError(message)


_PLAIN_TYPES: Mapping[str, frozenset[type]] = {
    "string": frozenset({str}),
    "boolean": frozenset({bool}),
    "integer": frozenset({int}),
    "number": frozenset({int, float}),
}
_TEXTS = frozenset({"title", "description"})


def fits_plainly(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    """Whether a schema has nothing but plain types, is well formed, and `arguments` have these types.

    `False` says nothing. Importing a validator takes longer than many a command.
    """
    properties: Any = schema.get("properties")
    required: Any = schema.get("required", ())
    if schema.get("type") != "object" or not _says_no_more(schema, "properties", "required"):
        return False
    if not isinstance(properties, dict) or not isinstance(required, (list, tuple)):
        return False
    parts = cast("dict[str, Any]", properties)
    names = cast("list[Any]", required)
    if not all(type(name) is str and name in arguments for name in names):
        return False
    return (
        len(set(names)) == len(names)
        and arguments.keys() <= parts.keys()
        and all(_is_plain(part) for part in parts.values())
        and all(_has_plain_type(parts[name], value) for name, value in arguments.items())
    )


def _is_plain(part: Any) -> bool:
    """Whether it is a well-formed schema of one plain type, or of a list of such."""
    if not isinstance(part, dict):
        return False
    schema = cast("dict[str, Any]", part)
    kind: Any = schema.get("type")
    if kind == "array":
        # A list of plain things is as plain.
        return _says_no_more(schema, "items", "default") and _is_plain(schema.get("items"))
    return isinstance(kind, str) and kind in _PLAIN_TYPES and _says_no_more(schema, "default")


def _says_no_more(schema: Mapping[str, Any], *keywords: str) -> bool:
    """Whether a schema has only these keywords beside its type and texts that are texts."""
    texts = (schema[name] for name in _TEXTS if name in schema)
    return schema.keys() <= {"type", *_TEXTS, *keywords} and all(
        isinstance(text, str) for text in texts
    )


def _has_plain_type(part: Mapping[str, Any], value: Any) -> bool:
    if part["type"] != "array":
        return type(value) in _PLAIN_TYPES[part["type"]]
    return type(value) is list and all(
        _has_plain_type(part["items"], one) for one in cast("list[Any]", value)
    )


def schema_problem(schema: Mapping[str, Any], value: Any) -> str | None:
    """The first way in which `value` does not fit `schema`, and where; `None` when it fits."""
    if certainly_fits(schema, value):
        return None
    from agentworld_sim.schema.limits import TooComplex

    try:
        error = _first_error(schema, value)
    except TooComplex as problem:
        return str(problem)
    if error is None:
        return None
    from jsonschema.exceptions import best_match  # pyright: ignore[reportUnknownVariableType]

    # Of alternatives none of which fits, the one that came closest says what is wrong.
    nearer = cast("ValidationError", best_match([error]))
    message = _shorten(nearer.message)
    if nearer.validator in ("anyOf", "oneOf"):
        wanted = canonical_json(cast("object", nearer.validator_value))
        message += f"; wanted one of {_shorten(wanted)}"
    return message + (f" (at {nearer.json_path})" if nearer.absolute_path else "")


def _shorten(message: str) -> str:
    """Without the middle when long: a message quotes the value, which may be megabytes."""
    return message if len(message) <= 400 else f"{message[:200]} … {message[-180:]}"


def _first_error(schema: Mapping[str, Any], value: Any) -> ValidationError | None:
    from referencing.exceptions import Unresolvable

    from agentworld_sim.schema.limits import errors_of

    try:
        return next(iter(errors_of(_validator(canonical_json(schema)), value, most=1)), None)
    except Unresolvable as error:
        raise MalformedSchema(
            f"the schema refers to another document, {error.ref!r}, which is never fetched. Put it"
            " into the schema's own `$defs`."
        ) from None


@lru_cache(maxsize=4096)
def _validator(schema_text: str) -> Validator:
    # Imported late: jsonschema takes a third of the time of `import agentworld_sim`.
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry

    from agentworld_sim.schema.limits import check_schema, limit_validator

    schema = cast("dict[str, Any]", json.loads(schema_text))
    kind = validator_for(schema)
    try:
        check_schema(kind, schema)
    except SchemaError as error:
        raise MalformedSchema(f"malformed JSON schema: {error.message}") from None
    except RecursionError:
        raise MalformedSchema("malformed JSON schema: it is nested too deeply") from None
    # An empty registry: the default one fetches remote `$ref`s over the network.
    return limit_validator(kind)(schema, registry=Registry())
