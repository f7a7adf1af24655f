"""`ScriptedChatModel`: says what it was told to say, and notices when the conversation differs."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from agentworld_graphs import ExpectedAnswer, ScriptedChatModel, ScriptMismatch, SimToolNode
from agentworld_sim import UsageError

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


def test_a_text_is_a_reply_and_anything_else_is_told() -> None:
    model = ScriptedChatModel(script=["hi", AIMessage("there")])
    assert model.invoke([HUMAN]).content == "hi"
    assert model.invoke([HUMAN, AIMessage("hi")]).content == "there"
    wrong: Any = ["hi", 7]
    with pytest.raises(UsageError, match="number 2 of the script is a int"):
        ScriptedChatModel(script=wrong)


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
    expected = r"has 1 replies .* number 2: every AIMessage .* ai: 'one'"
    with pytest.raises(ScriptMismatch, match=expected):
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


EXPECTATIONS = {
    "pattern": (ExpectedAnswer(re.compile("mi.k"), tool_call_id="1"), "something with 'mi.k'"),
    "function": (ExpectedAnswer(str.islower, tool_call_id="1"), "what islower takes"),
    "text": (ExpectedAnswer("milk", tool_call_id="1"), "'milk'"),
}


@pytest.mark.parametrize("kind", EXPECTATIONS)
def test_an_answer_may_be_expected_by_pattern_or_function(lab: Lab, kind: str) -> None:
    expected, shown = EXPECTATIONS[kind]
    model = ScriptedChatModel(script=[lab.adds("a"), expected, AIMessage("done")])
    said = [HUMAN, lab.adds("a")]
    assert model.invoke([*said, ToolMessage("milk", tool_call_id="1")]).content == "done"
    with pytest.raises(ScriptMismatch) as caught:
        model.invoke([*said, ToolMessage("BREAD", tool_call_id="1")])
    assert str(caught.value).splitlines()[1:] == [
        f"expected (success): {shown}",
        "got (success): 'BREAD'",
    ]
    with pytest.raises(ScriptMismatch, match=r"got \(error\): 'milk'"):
        model.invoke([*said, ToolMessage("milk", tool_call_id="1", status="error")])


def test_a_call_of_a_tool_that_is_not_bound_fails(lab: Lab) -> None:
    script = [lab.asks(lab.call("looks"))]
    with pytest.raises(ScriptMismatch) as caught:
        ScriptedChatModel(script=script).bind_tools(lab.tools()).invoke([HUMAN])
    assert str(caught.value) == (
        "reply 1 of the script calls 'looks', which is not among the tools that were bound to the"
        " model. Did you mean 'look'? Bound: add, look, fail. A script may call it all the same with"
        " checks_calls=False."
    )
    free = ScriptedChatModel(script=script, checks_calls=False).bind_tools(lab.tools())
    assert free.invoke([HUMAN]).tool_calls[0]["name"] == "looks"
    assert ScriptedChatModel(script=script).invoke([HUMAN]).tool_calls[0]["name"] == "looks"


async def test_arguments_that_the_bound_tool_does_not_take_fail(lab: Lab) -> None:
    model = ScriptedChatModel(script=[lab.asks(lab.call("add", thing="milk"))])
    bound = model.bind_tools(lab.tools())
    message = "reply 1 of the script calls 'add' with arguments that it does not take: 'item' is"
    with pytest.raises(ScriptMismatch, match=message):
        bound.invoke([HUMAN])
    with pytest.raises(ScriptMismatch, match=message):
        list(bound.stream([HUMAN]))
    with pytest.raises(ScriptMismatch, match=message):
        await bound.ainvoke([HUMAN])
    with pytest.raises(ScriptMismatch, match=message):
        [chunk async for chunk in bound.astream([HUMAN])]


def test_replies_that_were_never_given_are_known(lab: Lab) -> None:
    script = [lab.adds("a"), AIMessage("one"), AIMessage("two")]
    model = ScriptedChatModel(script=script)
    assert model.unused_messages() == script
    bound = model.bind_tools(lab.tools())
    with ThreadPoolExecutor() as threads:
        list(threads.map(bound.invoke, [[HUMAN]] * 8))
    assert model.unused_messages() == script[1:]
    list(bound.stream([HUMAN, script[0]]))
    assert model.unused_messages() == script[2:]


async def test_what_ends_a_reply_is_streamed_too(lab: Lab) -> None:
    reply = AIMessage(
        [{"type": "text", "text": "look"}, {"type": "image", "url": "http://pictures.example/1"}],
        tool_calls=lab.adds("a").tool_calls,
        usage_metadata={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        response_metadata={"model_name": "small"},
        additional_kwargs={"reasoning_content": "why"},
    )
    model = ScriptedChatModel(script=[reply]).bind_tools(lab.tools())
    for chunks in (list(model.stream([HUMAN])), [chunk async for chunk in model.astream([HUMAN])]):
        whole = AIMessageChunk(content=[])
        for chunk in chunks:
            assert isinstance(chunk, AIMessageChunk)
            whole += chunk
        for name in (
            "content",
            "tool_calls",
            "usage_metadata",
            "additional_kwargs",
            "response_metadata",
        ):
            got = getattr(whole, name)
            wanted = getattr(reply, name)
            assert got == wanted or dict(got, **wanted) == got, name


async def test_a_graph_streams_its_tokens(lab: Lab, go: Any) -> None:
    reply = AIMessage("one\ntwo\n", tool_calls=lab.adds("a").tool_calls)
    agent = lab.create_agent(
        ScriptedChatModel(script=[reply, AIMessage("done")]),
        SimToolNode(lab.tools(), world=lab.world()).tools_by_name.values(),
    )
    sync = [chunk.text for chunk, _ in agent.stream(go, stream_mode="messages")]
    asynchronous = [chunk.text async for chunk, _ in agent.astream(go, stream_mode="messages")]
    assert sync == asynchronous
    assert sync[:2] == ["one\n", "two\n"]
