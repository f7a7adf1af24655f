"""JSON Schemas of strangers, held against values of strangers, in time that neither of them chooses.

Python's regular expressions can take years over a short text, references that lead to references can
double with every step, and the items of a list are compared each with each. None of that can be
interrupted, and a server would stand still for everybody.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

MAX_REFERENCES = 100_000
"""References that are followed while one value is held against one schema."""

MAX_ERRORS = 1_000
"""Faults of one value that are looked for."""

LOOKED_AROUND = 100
"""Characters of a text that a pattern may look around in."""

LOOKING_REPEATS = 3
"""Repetitions in a pattern that looks around."""

_left = threading.local()


class TooComplex(Exception):
    """Holding the value against the schema would take too long, or go too deep."""


def limit_validator(kind: type[Validator]) -> type[Validator]:
    """The same dialect of JSON Schema, for `errors_of`."""
    from jsonschema import validators

    known = cast("Mapping[str, Any]", kind.VALIDATORS)
    changed: dict[str, Any] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties(known.get("additionalProperties")),
        "uniqueItems": _unique_items,
    }
    for name in ("$ref", "$dynamicRef", "$recursiveRef"):
        changed[name] = _count_steps(known.get(name))
    for name in ("unevaluatedProperties", "unevaluatedItems"):
        changed[name] = _after_the_others(known.get(name))
    extend: Any = vars(validators)["extend"]
    made = extend(kind, {name: check for name, check in changed.items() if name in known})
    made.evolve = _evolve
    return made


def errors_of(validator: Validator, value: Any, *, most: int = MAX_ERRORS) -> list[ValidationError]:
    """The faults of a value, at most so many, by a validator whose class `limit_validator` gave.

    Raises:
        TooComplex: it would take too long, or go too deep.
    """
    _left.references = MAX_REFERENCES
    try:
        return list(islice(validator.iter_errors(value), most))
    except RecursionError as error:
        raise TooComplex("it is nested too deeply") from error


def pattern_fits(pattern: str, text: str) -> bool:
    """Whether a regular expression is found in a text, by a matcher that needs no time to go back.

    It cannot look around or refer back. An expression that does is tried on short texts; on others, and
    where it could take long, anything fits.
    """
    from pydantic_core import ValidationError as Misfit

    matcher = _matcher(pattern)
    if matcher is None:
        return _fits_looking_around(pattern, text)
    try:
        # Without lone surrogates, which it cannot read.
        matcher.validate_python(re.sub("[\ud800-\udfff]", "\ufffd", text))
    except Misfit:
        return False
    return True


def is_pattern(pattern: str) -> bool:
    """Whether it is a regular expression, as JavaScript writes them or as Python does."""
    if _matcher(pattern) is not None:
        return True
    try:
        re.compile(_ELSEWHERE.sub(r"\\w", in_python(pattern)))
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def check_schema(kind: type[Validator], schema: Mapping[str, Any]) -> None:
    """Raises jsonschema's `SchemaError` when a schema is none of its dialect."""
    from jsonschema import FormatChecker

    formats = FormatChecker(())
    # Its own check takes every pattern for one of Python's.
    formats.checks("regex")(_is_regex)
    cast("Any", kind).check_schema(schema, format_checker=formats)


def _is_regex(value: object) -> bool:
    return not isinstance(value, str) or is_pattern(value)


_ELSEWHERE = re.compile(r"\\[pP]\{\^?[\w=]+\}|\\c[A-Za-z]|\\u\{[0-9A-Fa-f]+\}")
"""What JavaScript knows and Python does not."""


def in_python(pattern: str) -> str:
    named = re.sub(r"\(\?<(?![=!])", "(?P<", pattern)
    return re.sub(r"\\k<(\w+)>", r"(?P=\1)", named)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> Any:
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except (SchemaError, UnicodeEncodeError):
        return None


def _fits_looking_around(pattern: str, text: str) -> bool:
    repeats = len(re.findall(r"[*+{]", pattern))
    nested = re.search(r"\)[*+{?]", pattern) is not None
    if nested or repeats > LOOKING_REPEATS or len(text) > LOOKED_AROUND:
        return True
    if _ELSEWHERE.search(pattern):
        return True
    try:
        return re.search(in_python(pattern), text) is not None
    except re.error:
        return True


def _evolve(validator: Any, **changes: Any) -> Any:
    """As `evolve`, which would take the class without limits for a part that names its dialect."""
    import attrs

    kind: Any = cast("Any", type(validator))
    for field in attrs.fields(kind):
        if field.init:
            changes.setdefault(field.alias, getattr(validator, field.name))
    return kind(**changes)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    if validator.is_type(instance, "string") and not pattern_fits(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if validator.is_type(instance, "object"):
        for pattern, below in patterns.items():
            for name, value in instance.items():
                if pattern_fits(pattern, name):
                    yield from validator.descend(value, below, path=name, schema_path=pattern)


def _additional_properties(check: Any) -> Any:
    def run_check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        patterns = schema.get("patternProperties", {})
        if not patterns or not validator.is_type(instance, "object"):
            yield from check(validator, wanted, instance, schema)
            return
        # The original would search with the patterns themselves: it is shown names alone.
        named = {
            name: True for name in instance if any(pattern_fits(one, name) for one in patterns)
        }
        known = {**named, **schema.get("properties", {})}
        plain = {key: one for key, one in schema.items() if key != "patternProperties"}
        yield from check(validator, wanted, instance, {**plain, "properties": known})

    return run_check


def _unique_items(
    validator: Any, wanted: Any, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    from jsonschema import ValidationError

    listed = wanted and validator.is_type(instance, "array")
    if listed and len({_identity(one) for one in instance}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _identity(value: Any) -> Any:
    """Equal for JSON values that are equal: 1 and 1.0, but not 1 and true."""
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, dict):
        content = cast("dict[str, Any]", value)
        return "object", frozenset((name, _identity(one)) for name, one in content.items())
    if isinstance(value, list):
        return "array", tuple(_identity(one) for one in cast("list[Any]", value))
    return "plain", value


def _count_steps(check: Any) -> Any:
    def run_check(*arguments: Any) -> Any:
        _left.references -= 1
        if _left.references < 0:
            raise TooComplex(f"more than {MAX_REFERENCES} references would be followed")
        yield from check(*arguments)

    return run_check


def _after_the_others(check: Any) -> Any:
    """What looks through all other keywords, which count what they follow, only after them."""

    def run_check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        others = {key: one for key, one in schema.items() if not key.startswith("unevaluated")}
        for _ in validator.evolve(schema=others).iter_errors(instance):
            pass
        yield from check(validator, wanted, instance, schema)

    return run_check
