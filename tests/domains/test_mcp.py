"""Results of MCP tools: plain, JSON, or in the protocol's envelope."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from agentworld_sim.domains import domain
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

MCP = domain("mcp")
CALL = ToolCall("get", {"id": 1, "name": "é"})
PLAIN = ToolSpec(name="get")
TYPED = ToolSpec(name="get", output_schema={"type": "object", "properties": {"n": {}}})
WRAPPED = ToolSpec(
    name="get",
    output_schema={"properties": {"result": {"type": "string"}}, "x-fastmcp-wrap-result": True},
)

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


def observed(text: str, structured: Any = None, *, is_error: bool = False) -> Observation:
    return Observation(text=text, structured=structured, is_error=is_error, provenance="imagined")


def test_an_action_is_the_call_as_indented_json() -> None:
    assert MCP.action(CALL, PLAIN).text == (
        '{\n  "name": "get",\n  "arguments": {\n    "id": 1,\n    "name": "é"\n  }\n}'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("three notes", observed("three notes")),
        ('{"n": 1}', observed('{"n": 1}')),
        ('{"n": 1', observed('{"n": 1')),
        ('{"type": "text", "text": "a"}', observed("a")),
        ('[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]', observed("a\nb")),
        ('{"content": [{"type": "text", "text": "a"}], "isError": false}', observed("a")),
        (
            '{"content": [{"type": "text", "text": "no"}], "isError": true}',
            observed("no", is_error=True),
        ),
        ('{"isError": true, "content": "no"}', observed("no", is_error=True)),
        ('{"isError": true, "content": []}', observed("", is_error=True)),
        ('{"content": "a chapter"}', observed('{"content": "a chapter"}')),
        ('{"content": [{"type": "h1"}]}', observed('{"content": [{"type": "h1"}]}')),
        ('{"content": []}', observed('{"content": []}')),
        (
            '{"content": [{"type": "text", "text": "1"}], "structuredContent": {"n": 1}}',
            observed("1", {"n": 1}),
        ),
        (
            '{"type": "resource", "resource": {"uri": "note:1", "text": "hello"}}',
            observed("hello"),
        ),
        (
            '{"type": "image", "data": "AAAA", "mimeType": "image/png"}',
            observed('{"type": "image", "mimeType": "image/png"}'),
        ),
        (
            "Error executing tool get: no such id",
            observed("Error executing tool get: no such id", is_error=True),
        ),
        (
            '{"type": "text", "text": "Error calling tool \'get\': x"}',
            observed("Error calling tool 'get': x", is_error=True),
        ),
    ],
)
def test_a_result_is_read_in_each_of_its_forms(text: str, expected: Observation) -> None:
    assert MCP.read(text, CALL, PLAIN) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"n":1}', observed('{\n  "n": 1\n}', {"n": 1})),
        (
            '{"content": [{"type": "text", "text": "one"}], "structuredContent": {"n": 1}}',
            observed("one", {"n": 1}),
        ),
        ('{"structuredContent": {"n": 1}}', observed('{\n  "n": 1\n}', {"n": 1})),
        (
            '{"content": [{"type": "text", "text": "{\\"n\\": 1}"}]}',
            observed('{\n  "n": 1\n}', {"n": 1}),
        ),
        (
            '{"isError": true, "content": [{"type": "text", "text": "no"}]}',
            observed("no", is_error=True),
        ),
        ("Input validation error: id", observed("Input validation error: id", is_error=True)),
        ('{"n": "\\ud800"}', observed('{\n  "n": "\ufffd"\n}', {"n": "\ufffd"})),
    ],
)
def test_a_tool_with_an_output_schema_gives_structured_content(
    text: str, expected: Observation
) -> None:
    assert MCP.read(text, CALL, TYPED) == expected


def test_content_that_the_schema_declares_is_no_envelope() -> None:
    tool = ToolSpec(name="get", output_schema={"properties": {"content": {"type": "array"}}})
    text = '{"content": [{"type": "text", "text": "a"}]}'
    assert MCP.read(text, CALL, tool).structured == json.loads(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"n": 1', r"not valid JSON: Expecting ',' delimiter at line 1 column 8"),
        ("one", r"not valid JSON: Expecting value at line 1 column 1\. Answer with one JSON value"),
        ('{"n": NaN}', "not valid JSON: NaN is no JSON value"),
        ('{"n": 1e999}', "not valid JSON: 1e999 is no JSON value"),
        ("[" * 200 + "]" * 200, "nested deeper than 100 levels"),
        ("[" * 200_000, "nested too deeply"),
        ('{"content": [{"type": "text", "text": "{"}]}', "not valid JSON"),
    ],
)
def test_what_is_no_json_is_refused_with_a_reason_and_the_way_to_tell_an_error(
    text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason) as caught:
        MCP.read(text, CALL, TYPED)
    assert '"isError": true' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", observed("hello", {"result": "hello"})),
        ('"hello"', observed("hello", {"result": "hello"})),
        ('{"result": "hello"}', observed("hello", {"result": "hello"})),
        ("[1]", observed("[\n  1\n]", {"result": [1]})),
    ],
)
def test_a_result_that_a_server_wraps_is_wrapped(text: str, expected: Observation) -> None:
    read = MCP.read(text, CALL, WRAPPED)
    assert read == expected
    assert MCP.read(MCP.write(read), CALL, WRAPPED) == expected


NAMES = st.sampled_from(["type", "text", "content", "isError", "structuredContent", "resource"])
ALMOST = st.recursive(
    st.booleans() | st.integers() | st.sampled_from(["text", "image", "resource_link"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)


@example({"type": {}}, PLAIN)
@example({"type": "image", "resource": True}, PLAIN)
@given(ALMOST, st.sampled_from([PLAIN, TYPED, WRAPPED]))
def test_what_is_almost_an_envelope_is_read_or_refused(value: Any, tool: ToolSpec) -> None:
    try:
        assert isinstance(MCP.read(json.dumps(value), CALL, tool), Observation)
    except ValueError as refusal:
        assert str(refusal)


@given(TEXT, st.booleans())
def test_plain_results_and_errors_survive_writing_and_reading(text: str, is_error: bool) -> None:
    for said in (text, json.dumps({"type": "text", "text": text}), f"Unknown tool: {text}"):
        observation = observed(said, is_error=is_error)
        assert MCP.read(MCP.write(observation), CALL, PLAIN) == observation


@given(st.dictionaries(TEXT, JSON, min_size=1), TEXT)
def test_structured_results_survive_writing_and_reading(value: dict[str, Any], text: str) -> None:
    for said in (json.dumps(value), json.dumps(value, indent=2), text or "x"):
        tool = ToolSpec(name="get", output_schema={})
        written = MCP.write(observed(said, value))
        read = MCP.read(written, CALL, tool)
        assert json.dumps(read.structured) == json.dumps(value)


def test_results_are_written_as_the_tool_sent_them() -> None:
    assert MCP.write(observed("three notes")) == "three notes"
    assert MCP.write(observed('{"n":1}', {"n": 1})) == '{"n":1}'
    assert MCP.write(observed("no", is_error=True)) == (
        '{"content": [{"type": "text", "text": "no"}], "isError": true}'
    )
    assert MCP.write(observed("one", {"n": 1})) == (
        '{"content": [{"type": "text", "text": "one"}], "structuredContent": {"n": 1}}'
    )


def test_json_that_breaks_off_is_refused_where_the_tool_has_always_sent_json(
    refusals_of: Callable[..., dict[str, str]],
) -> None:
    assert "json-form" in refusals_of("mcp", '{"n": 1', earlier=['{"n": 2}'])
    for text, earlier in [
        ('{"n": 1', []),
        ('{"n": 1', ['{"n": 2}', "none"]),
        ('{"n": 3}', ['{"n": 2}']),
        ("nothing found", ['{"n": 2}']),
        ("[INFO] started", ['{"n": 2}']),
    ]:
        assert refusals_of("mcp", text, earlier=earlier) == {}
