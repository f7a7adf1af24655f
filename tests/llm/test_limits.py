"""Servers that keep a request alive and never end it, and what they ask of us meanwhile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from math import isfinite
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from agentworld_sim.errors import ModelRefused, ModelUnavailable
from agentworld_sim.llm import failures
from agentworld_sim.llm.client import LONGEST_PAUSE, pause
from agentworld_sim.llm.scripted import RawReply, ScriptedModelServer
from agentworld_sim.llm.transport import seconds_until
from tests.llm.harness import DONE, Connect, asked, chunk, raw_server, response

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
REFUSAL = b"HTTP/1.1 400 Bad\r\ncontent-type: application/json\r\n\r\n"


@asynccontextmanager
async def dripping(head: bytes, drop: bytes) -> AsyncGenerator[str]:
    """A server that answers with a head and then the same bytes for ever; gives its URL."""
    serving: list[asyncio.Task[Any]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.append(task)
        with suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while not writer.is_closing():
                writer.write(drop)
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()
        # It notices by itself that nobody reads any more.
        await asyncio.gather(*serving)


@pytest.mark.parametrize(
    "drop",
    [b": still there\n\n", chunk(""), chunk(role="assistant"), b'data: {"choices": []}\n\n', b"x"],
    ids=["comments", "empty text", "roles", "no choices", "bytes"],
)
async def test_what_carries_no_text_is_silence(connect: Connect, drop: bytes) -> None:
    async with dripping(STREAM + chunk("It"), drop) as url:
        client = connect(url, silence_seconds=0.05)
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 s and was given up"):
            await client.ask(asked())
        await client.close()


@pytest.mark.parametrize(
    ("head", "drop"),
    [(STREAM, chunk("a")), (STREAM, chunk(reasoning="a")), (WHOLE, b" "), (REFUSAL, b" ")],
    ids=["text", "thoughts", "a whole answer", "a refusal"],
)
async def test_a_reply_without_end_is_given_up(connect: Connect, head: bytes, drop: bytes) -> None:
    async with dripping(head, drop) as url:
        client = connect(url, reply_seconds=0.05)
        told = (
            r"was not whole after 0\.05 s\. Allow fewer tokens .* more time with reply_seconds\.$"
        )
        with pytest.raises(ModelUnavailable, match=told):
            await client.ask(asked())
        await client.close()


@pytest.mark.parametrize("head", [WHOLE, REFUSAL], ids=["an answer", "a refusal"])
async def test_an_answer_that_no_model_writes_is_given_up(
    connect: Connect, head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "LARGEST_ANSWER", 3 << 20)
    async with dripping(head, b" " * 65_536) as url:
        client = connect(url)
        with pytest.raises(
            ModelUnavailable, match=r"sends an answer of more than \d+ MB\. No model"
        ):
            await client.ask(asked())
        await client.close()


async def test_a_list_of_models_without_end_is_given_up(connect: Connect) -> None:
    async with dripping(WHOLE, b" ") as url:
        client = connect(url, model="", silence_seconds=0.05)
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 s"):
            await client.ask(asked())
        await client.close()


async def test_a_completion_without_end_is_given_up(connect: Connect) -> None:
    async with dripping(WHOLE, b" ") as url:
        client = connect(url, silence_seconds=0.05)
        with pytest.raises(ModelUnavailable, match=r"sent nothing for 0\.05 s"):
            await client.complete({"prompt": [1, 2]})
        await client.close()


async def test_a_head_without_end_is_given_up(connect: Connect) -> None:
    async with dripping(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n") as url:
        client = connect(url, reply_seconds=0.5, retries=0)
        with pytest.raises(ModelUnavailable):
            await client.ask(asked())
        await client.close()


@pytest.mark.parametrize("after", ["nan", "inf", "-inf", "-7", "1e400", "soon"])
async def test_a_pause_that_is_no_time_is_not_waited_for(
    connect: Connect, pauses: list[float], after: str
) -> None:
    busy = response(b"", f"retry-after: {after}", status="503 Busy")
    async with raw_server(busy, response()) as raw:
        assert (await connect(raw.url).ask(asked())).content == "fine"
    assert 0 <= pauses[0] <= 0.5


@given(st.text() | st.floats().map(str) | st.integers().map(str), st.integers(0, 40))
@example("nan", 0)
@example("Mon, 01 Jan 0001 00:00:00 +1400", 0)
@example("Fri, 31 Dec 9999 23:59:59 -1400", 0)
def test_whatever_a_server_asks_for_the_pause_is_short(after: str, count: int) -> None:
    seconds = seconds_until(after)
    assert seconds is None or (isfinite(seconds) and seconds >= 0)
    assert 0 <= pause(count, seconds) <= LONGEST_PAUSE + 0.5


@pytest.mark.parametrize("text", ["", "half an answ"])
async def test_a_filtered_reply_is_a_failure(connect: Connect, text: str) -> None:
    stream = chunk(text) + chunk(finish_reason="content_filter") + DONE
    with ScriptedModelServer([RawReply(stream, content_type="text/event-stream")]) as server:
        told = r"kept back a part of its reply \(finish_reason 'content_filter'\)\. Correct"
        with pytest.raises(ModelRefused, match=told):
            await connect(server.url).ask(asked())
        assert len(server.requests) == 1


async def test_a_filtered_whole_reply_is_a_failure(connect: Connect) -> None:
    choice = {"message": {"content": "half"}, "finish_reason": "content_filter"}
    filtered = RawReply(json.dumps({"choices": [choice]}))
    with (
        ScriptedModelServer([filtered]) as server,
        pytest.raises(ModelRefused, match="content_filter"),
    ):
        await connect(server.url).ask(asked())
