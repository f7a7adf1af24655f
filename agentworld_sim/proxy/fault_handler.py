"""`FaultHandler`: model faults as a model's server, or the network before it, would show them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

from agentworld_sim.proxy.model_calls import ForwardCall, ModelCall, ModelReply, ReplyCut
from agentworld_sim.proxy.model_faults import FaultSchedule, ModelFault

NO_JSON = '{"'
"""What a call that is cut off in its arguments has of them."""


class FaultHandler:
    """Strikes the calls that a schedule says. The form is OpenAI's, of a stream where one was asked for."""

    def __init__(self, schedule: FaultSchedule) -> None:
        self.schedule = schedule

    async def handle(self, call: ModelCall, next: ForwardCall) -> ModelReply:
        request = call.request
        tools: list[Any] = request.get("tools") or []
        model = str(request.get("model", ""))
        fault = self.schedule.choose(model, request.get("messages"), tools=bool(tools))
        if fault is None:
            return await next(call)
        if fault.kind == "slow-first-token":
            await asyncio.sleep(fault.seconds or 0)
            return await next(call)
        if fault.kind == "cut-stream":
            reply = await next(call)
            return replace(reply, body=_cut(reply, fault.pieces or 0))
        if fault.kind == "rate-limit":
            return _rate_limit(fault)
        message: dict[str, Any] = {"role": "assistant", "content": fault.text or ""}
        if fault.kind == "malformed-call":
            name: str = (tools[0].get("function") or tools[0]).get("name", "")
            function = {"name": name, "arguments": NO_JSON}
            calls = [{"id": f"call_{fault.name}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        return _completion(request, message)


async def _cut(reply: ModelReply, pieces: int) -> AsyncIterator[bytes]:
    """The beginning of a reply: so many events of a stream, or half of one in one piece."""
    headers = {name.lower(): value for name, value in reply.headers}
    if b"event-stream" not in headers.get(b"content-type", b""):
        whole = b"".join([piece async for piece in reply.body])
        yield whole[: len(whole) // 2]
        raise ReplyCut
    held = b""
    async for piece in reply.body:
        # An event ends with an empty line, wherever the network divided the stream.
        *events, held = (held + piece).split(b"\n\n")
        for event in events[:pieces]:
            yield event + b"\n\n"
        pieces -= len(events)
        if pieces <= 0:
            break
    raise ReplyCut


def _rate_limit(fault: ModelFault) -> ModelReply:
    seconds = fault.seconds or 0
    message = f"Rate limit reached for requests. Please try again in {seconds:g}s."
    error = {"message": message, "type": "requests", "param": None, "code": "rate_limit_exceeded"}
    return json_reply(429, {"error": error}, (b"retry-after", f"{seconds:g}".encode()))


def _completion(request: Mapping[str, Any], message: dict[str, Any]) -> ModelReply:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    head: dict[str, Any] = {"id": "chatcmpl-0", "created": 0, "model": request.get("model", "")}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    if not request.get("stream"):
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return json_reply(200, whole)
    head["object"] = "chat.completion.chunk"
    calls = [{"index": 0, **one} for one in message.get("tool_calls", ())]
    delta = {**message, "tool_calls": calls} if calls else message
    chunks: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    ]
    options: Mapping[str, Any] = request.get("stream_options") or {}
    if options.get("include_usage"):
        chunks.append({**head, "choices": [], "usage": usage})
    events = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    body = "".join(f"data: {event}\n\n" for event in events).encode()
    return ModelReply(200, [(b"content-type", b"text/event-stream")], _once(body))


def json_reply(status: int, value: object, *headers: tuple[bytes, bytes]) -> ModelReply:
    """A reply in one piece."""
    body = json.dumps(value).encode()
    length = (b"content-length", str(len(body)).encode())
    return ModelReply(
        status, [(b"content-type", b"application/json"), length, *headers], _once(body)
    )


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body
