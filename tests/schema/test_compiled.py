"""Compiled schemas say yes only where jsonschema does, and leave the rest to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.schema.compiled_schemas import certainly_fits
from agentworld_sim.schema.limits import errors_of, limit_validator
from tests.properties import examples

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text("ab1"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner),
    max_leaves=6,
)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
SCHEMAS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.one_of(
        TYPES.map(lambda kind: {"type": kind}),
        st.lists(VALUES, min_size=1, max_size=3).map(lambda values: {"enum": values}),
        VALUES.map(lambda value: {"const": value}),
        st.integers(0, 3).map(lambda size: {"minLength": size, "maxItems": size, "minimum": size}),
        st.sampled_from([2, 0.5]).map(lambda step: {"multipleOf": step}),
        st.just({"uniqueItems": True}),
    ),
    lambda inner: st.one_of(
        inner.map(lambda one: {"items": one}),
        st.dictionaries(st.text("ab", max_size=1), inner).map(lambda some: {"properties": some}),
        st.lists(inner, min_size=1, max_size=2).map(lambda some: {"anyOf": some}),
        inner.map(lambda one: {"not": one}),
        st.tuples(inner).map(
            lambda one: {"$defs": {"x": one[0]}, "additionalProperties": {"$ref": "#/$defs/x"}}
        ),
    ),
    max_leaves=4,
)


@settings(max_examples=examples(300))
@given(schema=SCHEMAS, value=VALUES)
def test_what_certainly_fits_fits(schema: dict[str, Any], value: Any) -> None:
    from jsonschema.validators import Draft202012Validator
    from referencing import Registry

    if certainly_fits(schema, value):
        validator = limit_validator(Draft202012Validator)(schema, registry=Registry())
        assert errors_of(validator, value) == []


@pytest.mark.parametrize("name", ["id", "pattern", "$ref", "enum"])
def test_a_property_may_be_called_like_a_keyword(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "integer"}}}
    assert certainly_fits(schema, {name: 1})
    assert not certainly_fits(schema, {name: "1"})


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "a"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "#"},
        {"$ref": "#/$defs/nowhere"},
        {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"},
        {"type": "no such type"},
        {
            "$defs": {
                "0": {},
                **{str(n): {"allOf": [{"$ref": f"#/$defs/{n - 1}"}] * 2} for n in range(1, 40)},
            },
            "$ref": "#/$defs/39",
        },
    ],
)
def test_what_could_take_long_or_be_judged_otherwise_is_left_to_jsonschema(
    schema: dict[str, Any],
) -> None:
    assert not certainly_fits(schema, {})


@pytest.mark.parametrize("value", [{1: 2}, "\ud800"])
def test_a_value_that_is_no_json_is_left_to_jsonschema(value: Any) -> None:
    assert not certainly_fits({"type": ["object", "string"]}, value)
