"""Servers that do not take all of a request: learnt, not configured."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from agentworld_sim.errors import ModelRefused
from agentworld_sim.llm.scripted import (
    ErrorReply,
    ModelRequest,
    RawReply,
    Reply,
    ScriptedModelServer,
    ScriptedReply,
)
from tests.llm.harness import Connect, asked

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def refusing(*fields: str, text: str = "Unsupported parameter: {!r}") -> Any:
    """A script of a server that refuses these fields, one after the other."""

    def answer(request: ModelRequest) -> Reply:
        for field in fields:
            if field in request.body:
                return ErrorReply(400, text.format(field))
        return ScriptedReply("fine")

    return answer


@pytest.mark.parametrize(
    "field",
    [
        *("top_k", "chat_template_kwargs", "thinking_token_budget", "seed", "response_format"),
        "stream_options",
    ],
)
async def test_a_refused_field_is_left_out_from_then_on(
    connect: Connect, field: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with ScriptedModelServer(refusing(field)) as server:
        client = connect(server.url)
        replies = [
            await client.ask(asked(text, schema=SCHEMA, thinking_tokens=500)) for text in "ab"
        ]
        sent = [field in request.body for request in server.requests]
    assert sent == [True, False, False]
    assert [field in reply.parameters for reply in replies] == [False, False]
    assert [reply.enforced for reply in replies] == [field != "response_format"] * 2
    assert caplog.messages == [
        f"the model server does not take {field}; it is left out from now on"
    ]


async def test_several_are_left_out_one_after_the_other(connect: Connect) -> None:
    with ScriptedModelServer(["one", "two"], strict_fields=True) as server:
        client = connect(server.url)
        assert (await client.ask(asked())).content == "one"
        assert (await client.ask(asked("again"))).content == "two"
        assert len(server.requests) == 4


async def test_the_limit_goes_by_its_newer_name_where_asked(connect: Connect) -> None:
    text = "Unsupported parameter: {!r} is not supported. Use 'max_completion_tokens' instead."
    with ScriptedModelServer(refusing("max_tokens", text=text)) as server:
        client = connect(server.url)
        for name in "ab":
            await client.ask(asked(name))
        limits = [
            (request.body.get("max_tokens"), request.body.get("max_completion_tokens"))
            for request in server.requests
        ]
    assert limits == [(1_000, None), (None, 1_000), (None, 1_000)]


async def test_a_server_without_structured_output_is_not_asked_for_it_again(
    connect: Connect,
) -> None:
    with ScriptedModelServer(["{}", "{}"], structured_output=False) as server:
        client = connect(server.url)
        assert not (await client.ask(asked(schema=SCHEMA))).enforced
        assert not (await client.ask(asked("again", schema=SCHEMA))).enforced
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    "text",
    [
        "The provided JSON schema contains features not supported by xgrammar.",
        "Invalid schema for response_format 'observation': additionalProperties is required.",
        "Failed to convert the grammar from JSON schema to EBNF",
    ],
)
async def test_a_schema_that_cannot_be_enforced_leaves_the_others_enforced(
    connect: Connect, text: str
) -> None:
    def answer(request: ModelRequest) -> Reply:
        wanted = str(request.body.get("response_format"))
        return ErrorReply(400, text) if "patternProperties" in wanted else ScriptedReply("{}")

    strange: dict[str, Any] = {"type": "object", "patternProperties": {"^a": {}}}
    with ScriptedModelServer(answer) as server:
        client = connect(server.url)
        enforced = [
            (await client.ask(asked(text, schema=schema))).enforced
            for text, schema in (("a", strange), ("b", SCHEMA), ("c", strange))
        ]
        assert len(server.requests) == 4
    assert enforced == [False, True, False]


async def test_fields_named_by_place_are_understood(connect: Connect) -> None:
    def answer(request: ModelRequest) -> Reply:
        if "seed" not in request.body:
            return ScriptedReply("fine")
        detail = '{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs"}]}'
        return RawReply(detail, 422)

    with ScriptedModelServer(answer) as server:
        assert "seed" not in (await connect(server.url).ask(asked())).parameters


async def test_nothing_is_learnt_from_a_request_that_fails_in_the_end(connect: Connect) -> None:
    echo = "body: top_k chat_template_kwargs seed stream_options: I do not like it"
    with ScriptedModelServer(lambda request: ErrorReply(400, echo)) as server:
        client = connect(server.url)
        with pytest.raises(ModelRefused, match="I do not like it"):
            await client.ask(asked())
        assert len(server.requests) == 5
        with pytest.raises(ModelRefused):
            await client.ask(asked())
        assert "top_k" in server.requests[5].body


@pytest.mark.parametrize("status", [401, 403, 404, 409])
async def test_other_statuses_teach_nothing(connect: Connect, status: int) -> None:
    with ScriptedModelServer([ErrorReply(status, "top_k is not for you")]) as server:
        with pytest.raises(ModelRefused):
            await connect(server.url).ask(asked())
        assert len(server.requests) == 1


async def test_requests_under_way_together_learn_each_for_itself(connect: Connect) -> None:
    with ScriptedModelServer(refusing("top_k", "seed")) as server:
        client = connect(server.url)
        await asyncio.gather(*(client.ask(asked(f"{n}")) for n in range(10)))
        before = len(server.requests)
        await client.ask(asked("later"))
        assert before <= 30 and len(server.requests) == before + 1


async def test_a_reply_is_found_in_the_cache_after_something_was_learnt(connect: Connect) -> None:
    with ScriptedModelServer(refusing("top_k")) as server:
        client = connect(server.url)
        first, second = await client.ask(asked()), await client.ask(asked())
        assert len(server.requests) == 2
    assert (first.source, second.source) == ("server", "cache")
