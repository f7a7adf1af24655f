"""`ScriptedChatModel`: says what it was told to say, and notices when the conversation differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from agentworld_graphs import ScriptedChatModel, ScriptMismatch

if TYPE_CHECKING:
    from conftest import Lab

HUMAN = HumanMessage("hello")


async def test_it_replies_in_order_in_all_ways(lab: Lab) -> None:
    model = ScriptedChatModel(script=[AIMessage("one"), AIMessage("two")])
    said: list[BaseMessage] = [HUMAN]
    for expected in ("one", "two"):
        assert model.invoke(said).content == expected
        assert (await model.ainvoke(said)).content == expected
        said.append(AIMessage(expected))


def test_bound_to_tools_it_is_the_same_model(lab: Lab) -> None:
    model = ScriptedChatModel(script=[lab.adds("a")])
    assert model.bind_tools(lab.tools()).invoke([HUMAN]).tool_calls == lab.adds("a").tool_calls


async def test_tool_calls_are_streamed_in_pieces_that_add_up(lab: Lab) -> None:
    reply = lab.adds("a", "b")
    reply.content = "first\nsecond"
    model = ScriptedChatModel(script=[reply])
    for chunks in (list(model.stream([HUMAN])), [chunk async for chunk in model.astream([HUMAN])]):
        whole = AIMessageChunk(content="")
        for chunk in chunks:
            assert isinstance(chunk, AIMessageChunk)
            whole += chunk
        assert (whole.content, whole.tool_calls) == (reply.content, reply.tool_calls)
        assert len(chunks) > 6


def test_every_reply_has_an_id_of_its_own() -> None:
    model = ScriptedChatModel(script=[AIMessage("one")])
    assert model.invoke([HUMAN]).id != model.invoke([HUMAN]).id


def test_a_script_that_ran_out_says_so() -> None:
    model = ScriptedChatModel(script=[AIMessage("one")])
    with pytest.raises(ScriptMismatch, match=r"has 1 replies .* number 2\. .* ai: 'one'"):
        model.invoke([HUMAN, AIMessage("one")])


def test_an_unexpected_answer_is_shown_beside_the_expected_one(lab: Lab) -> None:
    expected = ToolMessage("milk", tool_call_id="1")
    model = ScriptedChatModel(script=[lab.adds("a"), expected, AIMessage("done")])
    said = [HUMAN, lab.adds("a")]
    assert model.invoke([*said, ToolMessage("milk", tool_call_id="1")]).content == "done"
    with pytest.raises(ScriptMismatch) as caught:
        model.invoke([*said, ToolMessage("bread", tool_call_id="1", status="error")])
    assert str(caught.value).splitlines()[1:] == [
        "expected (success): 'milk'",
        "got (error): 'bread'",
    ]


def test_a_missing_answer_is_named(lab: Lab) -> None:
    expected = ToolMessage("milk", tool_call_id="1")
    model = ScriptedChatModel(script=[lab.adds("a"), expected, AIMessage("done")])
    with pytest.raises(ScriptMismatch, match=r"answered the call '1'\. Answered: '2'"):
        model.invoke([HUMAN, lab.adds("a"), ToolMessage("milk", tool_call_id="2")])
