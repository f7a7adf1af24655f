"""Whatever a schema and a value are, holding one against the other ends, and soon."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema.validators import Draft202012Validator

from agentworld_sim.errors import ArgumentsError
from agentworld_sim.schema.limits import TooComplex, errors_of, limit_validator, pattern_fits
from agentworld_sim.schema.validate import check_arguments
from agentworld_sim.types.tools import ToolSpec

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ENDLESS = {"pattern": "^(a+)+$"}
NEARLY = "a" * 60 + "b"


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [
        error.message for error in errors_of(limit_validator(Draft202012Validator)(schema), value)
    ]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (ENDLESS, NEARLY),
        ({"properties": {"x": {"$schema": DIALECT, **ENDLESS}}}, {"x": NEARLY}),
        ({"$schema": DIALECT, "properties": {"x": {"$ref": "#"}}, **ENDLESS}, {"x": NEARLY}),
        (
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
            {NEARLY: 1},
        ),
    ],
)
def test_a_pattern_that_would_go_back_for_ever_is_answered(
    schema: dict[str, Any], value: Any
) -> None:
    assert len(faults(schema, value)) == 1


def test_a_pattern_that_looks_around_for_ever_fits_anything() -> None:
    assert pattern_fits("^(?=(a+)+$)", NEARLY)
    assert pattern_fits("^(?=.*[A-Z]).{3,}$", "abC")
    assert not pattern_fits("^(?=.*[A-Z]).{3,}$", "abc")


def test_many_items_are_compared_in_one_go() -> None:
    items: list[Any] = [{"a": number} for number in range(20_000)]
    assert faults({"uniqueItems": True}, items) == []
    assert len(faults({"uniqueItems": True}, [1, 1.0])) == 1
    assert faults({"uniqueItems": True}, [1, True, {"a": [1]}, {"a": [True]}]) == []


@pytest.mark.parametrize("more", [{}, {"unevaluatedProperties": False}])
def test_references_that_double_are_given_up(more: dict[str, Any]) -> None:
    parts = {
        f"a{number}": {"allOf": [{"$ref": f"#/$defs/a{number + 1}"}] * 2} for number in range(30)
    }
    with pytest.raises(TooComplex, match="references would be followed"):
        faults({**more, "$ref": "#/$defs/a0", "$defs": {**parts, "a30": {}}}, {})


def test_a_value_that_is_too_deep_is_the_callers_mistake() -> None:
    deep: Any = 1
    for _ in range(190):
        deep = [deep]
    tree = {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}
    schema = {"properties": {"x": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    tool = ToolSpec(name="keep", input_schema=schema)
    with pytest.raises(ArgumentsError, match="nested too deeply"):
        check_arguments(tool, {"x": deep})
    check_arguments(tool, {"x": [[1]]})
