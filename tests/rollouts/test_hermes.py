"""Tool calls as policies write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import ToolCall
from agentworld_sim.rollouts import write_call
from agentworld_sim.rollouts.hermes import MalformedCall, parse_calls

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    calls=st.lists(
        st.builds(ToolCall, st.text(min_size=1), st.dictionaries(st.text(), JSON, max_size=3)),
        max_size=3,
    )
)
def test_a_written_call_is_read_as_it_was(calls: list[ToolCall]) -> None:
    written = "\n".join(map(write_call, calls))
    if not any(tag in written.replace(write_call(ToolCall("x")), "") for tag in ("</think>",)):
        inside = [call for call in calls if "tool_call>" in str(call) or "think>" in str(call)]
        assert inside or parse_calls(f"I look.\n{written}\n") == calls


def test_a_call_is_written_as_qwen3_writes_it() -> None:
    assert write_call(ToolCall("run", {"command": "echo ä"})) == (
        '<tool_call>\n{"name": "run", "arguments": {"command": "echo ä"}}\n</tool_call>'
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All done.",
        "<think>\n<tool_call>{}</tool_call>\n</think>\n\nNo.",
        "<tool_call>{}</tool_call></think>No: the prompt had opened the thinking.",
        "<think>never closed <tool_call>{}</tool_call>",
    ],
)
def test_a_turn_without_a_call_has_none(text: str) -> None:
    assert parse_calls(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<tool_call>{oops</tool_call>", "is not valid JSON"),
        ("<tool_call>[]</tool_call>", "is not a JSON object"),
        ('<tool_call>{"arguments": {}}</tool_call>', "has no name"),
        ('<tool_call>{"name": 3}</tool_call>', "has no name"),
        ('<tool_call>{"name": "run", "arguments": "ls"}</tool_call>', "arguments are not a JSON"),
        ('<tool_call>{"name": "run"}', "is not closed"),
        ('{"name": "run"}</tool_call>', "without <tool_call>"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "is not valid JSON"),
    ],
)
def test_a_malformed_call_is_answered_with_what_is_wrong(text: str, problem: str) -> None:
    (call,) = parse_calls(text)
    assert isinstance(call, MalformedCall)
    assert problem in call.problem
    assert call.problem.startswith("Error: ")
    assert call.problem.endswith("then </tool_call>.")


def test_one_malformed_call_does_not_spoil_the_next() -> None:
    good = ToolCall("run", {"command": "ls"})
    broken, call = parse_calls("<tool_call>{\n" + write_call(good))
    assert isinstance(broken, MalformedCall)
    assert call == good


@pytest.mark.parametrize("end", ["</THINK>Done.", ""])
def test_a_call_drafted_in_thinking_whose_tags_are_in_capitals_is_no_call(end: str) -> None:
    assert parse_calls(f"<THINK>{write_call(ToolCall('run', {}))}{end}") == []
