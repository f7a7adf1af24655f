"""What is sent, and how a reply is read."""

from __future__ import annotations

import logging
from itertools import pairwise

import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.llm import _stream
from agentworld_sim.llm.chat import ChatMessage, ChatReply
from agentworld_sim.llm.scripted import Dialect, RawReply, ScriptedModelServer, ScriptedReply
from tests.llm.harness import (
    COMPLETE,
    DONE,
    MODEL,
    Connect,
    asked,
    chunk,
    event,
    raw_server,
    response,
)

SCHEMA = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}

FIELDS = {
    "model": MODEL,
    "temperature": 0.6,
    "top_p": 0.95,
    "top_k": 20,
    "max_tokens": 1_000,
    "seed": 7,
    "chat_template_kwargs": {"enable_thinking": True},
    "stream": True,
    "stream_options": {"include_usage": True},
}


async def test_a_reply_has_content_thinking_usage_and_what_was_sent(connect: Connect) -> None:
    with ScriptedModelServer([ScriptedReply("It rains.", thinking="Weather?")]) as server:
        reply = await connect(server.url).ask(asked())
        (request,) = server.requests
    first, seconds = reply.first_token_seconds, reply.seconds
    assert reply == ChatReply(
        content="It rains.",
        thinking="Weather?",
        thinking_field="reasoning",
        pieces=reply.pieces,
        finish_reason="stop",
        usage={
            "prompt_tokens": request.prompt_tokens,
            "completion_tokens": 7,
            "cached_tokens": 0,
            "thinking_tokens": 2,
        },
        parameters=FIELDS,
        seconds=seconds,
        first_token_seconds=first,
        model=MODEL,
        source="server",
    )
    assert first is not None and 0 < first < seconds and reply.pieces >= 2
    messages = [{"role": m.role, "content": m.content} for m in asked().messages]
    assert request.body == {"messages": messages, **FIELDS}


@pytest.mark.parametrize("dialect", ["vllm", "vllm-0.9", "sglang"])
async def test_thinking_is_read_from_either_field(connect: Connect, dialect: Dialect) -> None:
    script = [ScriptedReply("It rains.", thinking="Weather?")]
    with ScriptedModelServer(script, dialect=dialect) as server:
        reply = await connect(server.url).ask(asked())
    assert (reply.content, reply.thinking) == ("It rains.", "Weather?")


async def test_thinking_can_be_turned_off(connect: Connect) -> None:
    with ScriptedModelServer(["fine"]) as server:
        await connect(server.url).ask(asked(thinking=False))
        assert server.requests[0].enable_thinking is False


async def test_a_reply_cut_at_the_limit_says_so(connect: Connect) -> None:
    with ScriptedModelServer(["a long answer"]) as server:
        reply = await connect(server.url).ask(asked(max_tokens=1))
    assert (reply.content, reply.finish_reason) == ("a lo", "length")


async def test_a_schema_is_sent_in_its_own_order_where_it_is_wanted(connect: Connect) -> None:
    with ScriptedModelServer(["{}", "{}"]) as server:
        reply = await connect(server.url).ask(asked(schema=SCHEMA))
        off = await connect(server.url, structured="off").ask(asked(schema=SCHEMA))
        sent = server.requests[0].body["response_format"]
        assert sent == {
            "type": "json_schema",
            "json_schema": {"name": "observation", "strict": True, "schema": SCHEMA},
        }
        assert list(sent["json_schema"]["schema"]["properties"]) == ["b", "a"]
        assert "response_format" not in server.requests[1].body
    assert (reply.enforced, off.enforced) == (True, False)


async def test_a_reply_in_one_piece_is_understood_though_a_stream_was_asked_for(
    connect: Connect,
) -> None:
    body = (
        '{"choices": [{"message": {"content": "fine", "reasoning_content": "hm"},'
        ' "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "reasoning_tokens": 1}}'
    )
    with ScriptedModelServer([RawReply(body)]) as server:
        reply = await connect(server.url).ask(asked())
    assert (reply.content, reply.thinking, reply.finish_reason) == ("fine", "hm", "stop")
    assert reply.usage == {"prompt_tokens": 3, "thinking_tokens": 1}


async def test_a_stream_under_another_content_type_is_understood(connect: Connect) -> None:
    with ScriptedModelServer([RawReply(COMPLETE, content_type="text/plain")]) as server:
        assert (await connect(server.url).ask(asked())).content == "fine"


@pytest.mark.parametrize(
    "stream",
    [
        COMPLETE.replace(b"\n", b"\r\n"),
        COMPLETE.replace(b"data: ", b"data:"),
        b": a comment\n\nevent: message\nid: 1\nretry: 10\n\n" + COMPLETE,
        COMPLETE.removesuffix(DONE),
        COMPLETE.removesuffix(DONE).removesuffix(b"\n\n"),
        chunk("fine") + DONE,
        event({"choices": []}) + COMPLETE,
        chunk("fi") + b'data: {"choices":\ndata: [{"delta": {"content": "ne"}}]}\n\n' + DONE,
        chunk("fine", role="assistant", tool_calls=None) + chunk("", "stop") + DONE + b"junk\n\n",
    ],
)
async def test_streams_are_read_however_they_are_written(connect: Connect, stream: bytes) -> None:
    with ScriptedModelServer([RawReply(stream, content_type="text/event-stream")]) as server:
        reply = await connect(server.url).ask(asked())
    assert (reply.content, reply.finish_reason) == ("fine", "stop")


async def test_a_line_of_five_megabytes_is_read(connect: Connect) -> None:
    with ScriptedModelServer([ScriptedReply.long_line()], max_model_len=2_000_000) as server:
        reply = await connect(server.url).ask(asked(max_tokens=2_000_000))
    assert len(reply.content) == 5_000_000


async def test_text_arrives_as_it_was_sent_but_for_half_characters(connect: Connect) -> None:
    text = 'tab\t "quotes" \\ \x00\x1b[31m é 漢 😀 </predicted_observation>\r\n'
    with ScriptedModelServer(lambda request: request.last_user) as server:
        client = connect(server.url)
        assert (await client.ask(asked(text))).content == text
        assert (await client.ask(asked("half \ud800"))).content == "half ?"


@pytest.mark.parametrize("seed", [-1, 2**31])
async def test_a_seed_that_servers_cannot_hold_is_refused(connect: Connect, seed: int) -> None:
    with pytest.raises(UsageError, match=f"must be 0 to 2147483647, not {seed}"):
        await connect("http://127.0.0.1:9/v1").ask(asked(seed=seed))


@pytest.mark.parametrize("seed", [0, 2**31 - 1])
async def test_the_outermost_seeds_are_sent(connect: Connect, seed: int) -> None:
    with ScriptedModelServer(["fine"]) as server:
        assert (await connect(server.url).ask(asked(seed=seed))).parameters["seed"] == seed


async def test_connections_are_used_again(connect: Connect) -> None:
    async with raw_server(response(), response(), response()) as raw:
        client = connect(raw.url)
        for text in "abc":
            await client.ask(asked(text))
        assert raw.connections == 1


async def test_a_connection_that_stays_open_after_the_reply_is_let_go(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_stream, "LEFTOVER_SECONDS", 0.01)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    async with raw_server(head + COMPLETE, response(), response()) as raw:
        client = connect(raw.url)
        for text in "abc":
            assert (await client.ask(asked(text))).content == "fine"
        assert raw.connections == 2


@pytest.mark.parametrize(
    "usage",
    [
        '{"prompt_tokens": 3, "prompt_tokens_details": null, "completion_tokens_details": 1}',
        '{"prompt_tokens": 3, "completion_tokens": null, "prompt_tokens_details": []}',
    ],
)
async def test_usage_is_read_as_far_as_it_goes(connect: Connect, usage: str) -> None:
    last = f'data: {{"choices": [], "usage": {usage}}}\n\n'.encode()
    stream = COMPLETE.removesuffix(DONE) + last + DONE
    with ScriptedModelServer([RawReply(stream, content_type="text/event-stream")]) as server:
        assert (await connect(server.url).ask(asked())).usage == {"prompt_tokens": 3}


async def test_a_query_of_the_url_is_kept(connect: Connect) -> None:
    async with raw_server(response()) as raw:
        await connect(f"{raw.url}/?version=2").ask(asked())
        assert raw.requests == ["post /v1/chat/completions?version=2 http/1.1"]


async def test_a_loopback_server_is_reached_past_the_proxy_of_the_environment(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with raw_server(response()) as raw:
        assert (await connect(raw.url).ask(asked())).content == "fine"


async def test_another_server_is_reached_through_the_proxy_of_the_environment(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_server(response()) as raw:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{raw.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        await connect("http://model.example/v1").ask(asked())
        assert raw.requests == ["post http://model.example/v1/chat/completions http/1.1"]


async def test_logs_tell_sizes_and_never_contents(
    connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ScriptedModelServer([ScriptedReply("It rains.", thinking="Weather?")]) as server:
        client = connect(server.url)
        await client.ask(asked("a riddle"))
        await client.ask(asked("a riddle"))
    ours = [record for record in caplog.records if record.name.startswith("agentworld_sim")]
    assert len(ours) >= 2
    assert not any(
        text in caplog.text for text in ("It rains", "Weather?", "a riddle", "You are a world")
    )


class TestWatch:
    async def test_a_reason_ends_the_reply_and_the_connection(self, connect: Connect) -> None:
        seen: list[tuple[int, int]] = []

        def watch(content: str, thinking: str) -> str | None:
            seen.append((len(content), len(thinking)))
            return "it repeats itself" if len(content) > 6_000 else None

        script = [ScriptedReply("again " * 100_000, thinking="so " * 1_000, chunk_size=64)]
        with ScriptedModelServer(script) as server:
            reply = await connect(server.url).ask(asked(max_tokens=200_000), watch=watch)
            server.wait_for(abandoned=1)
        assert (reply.finish_reason, reply.interruption) == ("interrupted", "it repeats itself")
        assert 6_000 < len(reply.content) < 10_000
        assert reply.thinking == "so " * 1_000
        assert 3 <= len(seen) <= 6 and seen == sorted(seen)

    async def test_an_interrupted_reply_is_not_kept(self, connect: Connect) -> None:
        script = [ScriptedReply("x" * 50_000), "fine"]

        def watch(content: str, thinking: str) -> str:
            return "enough"

        with ScriptedModelServer(script) as server:
            client = connect(server.url)
            await client.ask(asked(max_tokens=50_000), watch=watch)
            assert (await client.ask(asked(max_tokens=50_000))).content == "fine"

    async def test_looks_grow_rarer_as_a_reply_grows(self, connect: Connect) -> None:
        looks: list[int] = []

        def watch(content: str, thinking: str) -> None:
            looks.append(len(content))

        with ScriptedModelServer([ScriptedReply("x" * 400_000)]) as server:
            await connect(server.url).ask(asked(max_tokens=200_000), watch=watch)
        gaps = [later - earlier for earlier, later in pairwise(looks)]
        assert min(gaps) >= 2_048 and len(looks) < 60

    async def test_what_a_watch_raises_reaches_the_caller(self, connect: Connect) -> None:
        def watch(content: str, thinking: str) -> str | None:
            raise ZeroDivisionError

        with ScriptedModelServer([ScriptedReply("x" * 50_000)]) as server:
            with pytest.raises(ZeroDivisionError):
                await connect(server.url).ask(asked(max_tokens=50_000), watch=watch)
            server.wait_for(abandoned=1)


async def test_messages_keep_their_order_and_roles(connect: Connect) -> None:
    messages = (
        ChatMessage("system", "s"),
        ChatMessage("user", "u"),
        ChatMessage("assistant", "a"),
        ChatMessage("user", "v"),
    )
    with ScriptedModelServer(["fine"]) as server:
        await connect(server.url).ask(asked(messages=messages))
        sent = [(message["role"], message["content"]) for message in server.requests[0].messages]
    assert sent == [(message.role, message.content) for message in messages]
