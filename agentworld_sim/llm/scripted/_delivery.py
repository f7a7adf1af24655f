"""How each kind of scripted reply goes over the wire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import islice
from typing import assert_never

from agentworld_sim.llm.scripted._dialects import Refusal, over_the_limit
from agentworld_sim.llm.scripted._generation import (
    DONE,
    Envelope,
    Generation,
    deltas_of,
    event,
    generate,
)
from agentworld_sim.llm.scripted._http import HttpConnection
from agentworld_sim.llm.scripted._replies import (
    Disconnect,
    ErrorReply,
    Hang,
    OverflowReply,
    RawReply,
    Reply,
    ScriptedReply,
    StreamError,
)
from agentworld_sim.llm.scripted._requests import ModelRequest
from agentworld_sim.llm.scripted._settings import Settings

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"


async def deliver(
    http: HttpConnection, reply: Reply, request: ModelRequest, settings: Settings
) -> Generation | None:
    """Send a reply; returns what the model generated when all of it arrived."""
    match reply:
        case ScriptedReply():
            return await _answer(http, reply, request, settings)
        case ErrorReply():
            headers = (
                {} if reply.retry_after_s is None else {"retry-after": f"{reply.retry_after_s:g}"}
            )
            await refuse(http, _error(reply), settings, headers)
        case OverflowReply():
            await refuse(http, _overflow(request, settings), settings)
        case RawReply():
            body = reply.body.encode() if isinstance(reply.body, str) else reply.body
            await http.respond(reply.status, body, content_type=reply.content_type)
        case Hang():
            await _begin(http, reply.reply, reply.after_chunks, request, settings)
            await asyncio.Event().wait()
        case Disconnect():
            await _begin(http, reply.reply, reply.after_chunks, request, settings)
            if reply.reset:
                http.abort(reset=True)
            else:
                await http.close()
        case StreamError():
            await _fail_inside_the_stream(http, reply, request, settings)
        case _:
            assert_never(reply)
    return None


async def refuse(
    http: HttpConnection,
    refusal: Refusal,
    settings: Settings,
    headers: dict[str, str] | None = None,
) -> None:
    """Send an error as this server writes it."""
    body = json.dumps(refusal.body(settings.dialect)).encode()
    await http.respond(refusal.status, body, content_type=JSON, headers=headers)


async def _answer(
    http: HttpConnection, reply: ScriptedReply, request: ModelRequest, settings: Settings
) -> Generation:
    generation = generate(reply, request, settings)
    envelope = Envelope.of(request, settings)
    chunks = _chunks(reply, generation, envelope)
    await _before_the_first_byte(reply)
    if not request.stream:
        await asyncio.sleep(reply.seconds_per_chunk * len(list(chunks)))
        body = json.dumps(envelope.completion(generation)).encode()
        await http.respond(200, body, content_type=JSON)
        return generation
    await http.start(200, content_type=EVENTS)
    for chunk in chunks:
        await http.send(chunk)
        await asyncio.sleep(reply.seconds_per_chunk)
    bare = settings.reasoning_parser and settings.dialect != "vllm"
    last = {} if bare else {"content": ""}
    await http.send(envelope.chunk(last, generation.finish_reason))
    if request.include_usage:
        await http.send(envelope.usage_chunk(generation))
    await http.send(DONE)
    await http.end()
    return generation


async def _before_the_first_byte(reply: ScriptedReply) -> None:
    if reply.gate is not None:
        await reply.gate.wait()
    await asyncio.sleep(reply.delay_s)


def _chunks(reply: ScriptedReply, generation: Generation, envelope: Envelope) -> Iterator[bytes]:
    yield envelope.chunk({"role": "assistant", "content": ""})
    for delta in deltas_of(generation, envelope.settings, reply.chunk_size):
        yield envelope.chunk(delta)


async def _begin(
    http: HttpConnection,
    reply: ScriptedReply,
    chunks: int | None,
    request: ModelRequest,
    settings: Settings,
) -> None:
    """Send the beginning of an answer: nothing, or the headers and a part of the body."""
    await _before_the_first_byte(reply)
    if chunks is None:
        return
    generation = generate(reply, request, settings)
    envelope = Envelope.of(request, settings)
    if request.stream:
        await http.start(200, content_type=EVENTS)
        for chunk in islice(_chunks(reply, generation, envelope), chunks):
            await http.send(chunk)
            await asyncio.sleep(reply.seconds_per_chunk)
        return
    body = json.dumps(envelope.completion(generation)).encode()
    await http.start(200, content_type=JSON, headers={"content-length": str(len(body))})
    part = body[: min(chunks * (reply.chunk_size or len(body)), len(body) - 1)]
    if part:
        await http.send(part)


async def _fail_inside_the_stream(
    http: HttpConnection, reply: StreamError, request: ModelRequest, settings: Settings
) -> None:
    refusal = Refusal(500, reply.message)
    if not request.stream:
        await _before_the_first_byte(reply.reply)
        return await refuse(http, refusal, settings)
    await _begin(http, reply.reply, reply.after_chunks, request, settings)
    body = refusal.body(settings.dialect)
    # Inside a stream all of them put the error under `error`.
    await http.send(event(body if "error" in body else {"error": body}))
    await http.send(DONE)
    await http.end()


def _error(reply: ErrorReply) -> Refusal:
    if reply.status == 429:
        # No model server limits rates; gateways that do write it as OpenAI does.
        return Refusal(429, reply.message, type="requests", code="rate_limit_exceeded")
    return Refusal(reply.status, reply.message)


def _overflow(request: ModelRequest, settings: Settings) -> Refusal:
    limit = settings.max_model_len
    refusal = over_the_limit(
        settings.dialect,
        prompt_tokens=max(request.prompt_tokens, limit + 1),
        max_tokens=None if settings.dialect == "vllm" else request.max_tokens,
        limit=limit,
    )
    assert refusal is not None
    return refusal
