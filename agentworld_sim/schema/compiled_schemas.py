"""JSON Schemas compiled to machine code, for the one question that is asked of every answer: does it fit?

Only a yes counts. Whatever the compiler would judge otherwise than jsonschema does (patterns), could take
exponential time over (references that multiply) or does not take at all is left to jsonschema, which also
finds the words for what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

MAX_EXPANDED = 10_000
"""Subschemas that a schema may have with every reference written out."""

_LEFT_TO_JSONSCHEMA = frozenset(
    {
        "pattern",
        "patternProperties",
        "unevaluatedItems",
        "unevaluatedProperties",
        "$dynamicRef",
        "$recursiveRef",
        "$id",
        "id",
    }
)


def certainly_fits(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether it is certain that `value` fits `schema`, which must not change; `False` says nothing."""
    validator = _compile(_ById(schema))
    if validator is None:
        return False
    try:
        return validator.is_valid(value)
    except (ValueError, TypeError, RecursionError):
        # Something in the value that is no JSON, or too deep.
        return False


class _ById:
    """A schema as a key: hashing what is in it would cost more than holding a value against it."""

    __slots__ = ("schema",)

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.schema is self.schema


@lru_cache(maxsize=4096)
def _compile(key: _ById) -> Any:
    """The compiled validator; `None` for schemas that are left to jsonschema."""
    try:
        if (
            not isinstance(key.schema, dict)
            or _expanded_size(key.schema, key.schema, ()) > MAX_EXPANDED
        ):
            return None
        # Imported late: a process that computes one command needs no schema.
        import jsonschema_rs

        return jsonschema_rs.validator_for(
            key.schema, validate_formats=False, retriever=_refuse_document
        )
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _refuse_document(uri: str) -> Any:
    raise ValueError(f"{uri} is never fetched")


def _expanded_size(part: Any, root: Mapping[str, Any], inside: tuple[str, ...]) -> int:
    """How many subschemas there are with every reference written out.

    Raises:
        ValueError: it is one for jsonschema.
    """
    count = 1
    for key, below in _entries(part):
        if key in _LEFT_TO_JSONSCHEMA:
            raise ValueError(key)
        if key == "$ref":
            if not isinstance(below, str) or below in inside:
                raise ValueError("it refers to itself")
            count += _expanded_size(_target(root, below), root, (*inside, below))
        else:
            count += _expanded_size(below, root, inside)
        if count > MAX_EXPANDED:
            raise ValueError("it is too large")
    return count


def _entries(part: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(part, dict):
        for key, below in cast("dict[str, Any]", part).items():
            if key in ("properties", "dependentSchemas") and isinstance(below, dict):
                yield from (("", one) for one in cast("dict[str, Any]", below).values())
            # Definitions cost nothing until something refers to them; values may be anything.
            elif key not in ("$defs", "definitions", "enum", "const", "default", "examples"):
                yield key, below
    elif isinstance(part, list):
        yield from (("", below) for below in cast("list[Any]", part))


def _target(root: Mapping[str, Any], reference: str) -> Any:
    if not reference.startswith("#/"):
        raise ValueError("it refers to another document")
    found: Any = root
    for name in reference[2:].split("/"):
        found = found[name.replace("~1", "/").replace("~0", "~")]
    return found
