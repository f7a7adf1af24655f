"""Tool specs, argument checks and canonical JSON."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import ArgumentsError, ToolSpec, UsageError
from agentworld_sim.schema.validate import check_arguments, fits_plainly, schema_problem
from agentworld_sim.toolkits import known_tools
from agentworld_sim.types.json import canonical_json
from tests.properties import examples

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_canonical_json_is_the_value_and_has_one_form(value: object) -> None:
    text = canonical_json(value)
    text.encode()
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text


def test_the_order_of_keys_is_no_part_of_canonical_json() -> None:
    assert canonical_json({"b": 1, "a": 2}) == canonical_json({"a": 2, "b": 1})


def test_a_spec_survives_json() -> None:
    spec = ToolSpec(
        name="t",
        description="d",
        input_schema={"type": "object"},
        output_schema={"type": "object"},
        annotations={"readOnlyHint": True},
        domain="swe",
        access="refuse",
        binds_to="claude-code/Bash",
    )
    assert ToolSpec.from_json(json.loads(json.dumps(spec.to_json()))) == spec


@pytest.mark.promise("no-remote-schemas")
def test_a_reference_to_another_document_is_never_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        schema = {"properties": {"x": {"$ref": f"http://127.0.0.1:{port}/schema.json"}}}
        with pytest.raises(UsageError, match="refers to another document"):
            check_arguments(ToolSpec(name="t", input_schema=schema), {"x": 1})
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_malformed_schema_is_the_users_mistake_and_named() -> None:
    with pytest.raises(UsageError, match="malformed JSON schema"):
        check_arguments(ToolSpec(name="t", input_schema={"type": 7}), {})


def test_a_tool_without_arguments_says_only_what_is_wrong() -> None:
    spec = ToolSpec(name="t", input_schema={"type": "object", "additionalProperties": False})
    with pytest.raises(ArgumentsError, match=r"'t' does not take these arguments: .*'x'"):
        check_arguments(spec, {"x": 1})


def test_a_value_that_fits_has_no_problem() -> None:
    assert schema_problem({"type": "integer"}, 3) is None
    assert schema_problem({"type": "integer"}, "3") == "'3' is not of type 'integer'"


_PLAIN = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean", "object", 3])},
    optional={
        "description": st.just("x") | st.just(1),
        "enum": st.just(["a"]),
        "default": st.none(),
    },
)
_NAMES = st.sampled_from(["a", "b", "c"])


@given(
    schema=st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "object", "string"])},
        optional={
            "properties": st.dictionaries(_NAMES, _PLAIN, max_size=3),
            "required": st.lists(_NAMES, max_size=2),
            "additionalProperties": st.booleans(),
        },
    ),
    arguments=st.dictionaries(
        _NAMES, st.sampled_from(["a", 1, 1.0, 1.5, True, None, []]), max_size=3
    ),
)
@settings(max_examples=examples(400))
def test_plain_schemas_are_held_as_by_jsonschema(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    def problem(asked: dict[str, Any]) -> type[Exception] | None:
        try:
            check_arguments(ToolSpec(name="t", input_schema=asked), arguments)
        except (ArgumentsError, UsageError) as error:
            return type(error)
        return None

    # A keyword that nobody knows changes nothing, but is not plain.
    assert problem(schema) == problem({**schema, "x-not-plain": True})


_VALUES: st.SearchStrategy[object] = st.sampled_from(
    ("a", "", 1, -1, 1.0, 1.5, True, None, (), ["a"])
)
_BINDINGS: list[Mapping[str, Any]] = [
    *(binding.input_schema for binding in known_tools().values()),
    {"type": "object", "properties": {"a": {"type": "string"}, "b": {"items": {"type": "string"}}}},
]


@given(data=st.data(), schema=st.sampled_from(_BINDINGS))
@settings(max_examples=examples(200))
def test_what_fits_a_binding_plainly_fits_by_jsonschema(
    data: st.DataObject, schema: Mapping[str, Any]
) -> None:
    names = st.sampled_from([*map(str, schema["properties"]), "unknown"])
    given: dict[str, object] = data.draw(st.dictionaries(names, _VALUES, max_size=4))
    arguments = dict[str, Any](given)
    if fits_plainly(schema, arguments):
        check_arguments(ToolSpec(name="t", input_schema={**schema, "x-not-plain": 1}), arguments)
