"""Clients, requests and a server of raw bytes, for the tests of this folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from agentworld_sim.llm.chat import ChatMessage, ChatRequest
from agentworld_sim.llm.client import ChatClient

MODEL = "Qwen/Qwen-AgentWorld-35B-A3B"

SECRET = "sk-9f31c7d2e8b64a05"

Connect = Callable[..., ChatClient]
"""Makes clients of a URL with settings; they are closed at the end of the test."""


def asked(text: str = "hello", **fields: Any) -> ChatRequest:
    """A request whose last message has this text."""
    messages = (ChatMessage("system", "You are a world."), ChatMessage("user", text))
    given: dict[str, Any] = {"messages": messages, "max_tokens": 1_000, "seed": 7, **fields}
    return ChatRequest(**given)


def event(value: object) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(content: str | None = None, finish_reason: str | None = None, **delta: Any) -> bytes:
    """One event of a streamed reply."""
    delta = delta if content is None else {**delta, "content": content}
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


DONE = b"data: [DONE]\n\n"

COMPLETE = chunk("fine") + chunk(finish_reason="stop") + DONE


def response(
    body: bytes = COMPLETE,
    *headers: str,
    status: str = "200 OK",
    content_type: str = "text/event-stream",
) -> bytes:
    """An HTTP response with its length."""
    head = (f"HTTP/1.1 {status}", f"content-type: {content_type}", f"content-length: {len(body)}")
    return "\r\n".join((*head, *headers, "", "")).encode() + body


class RawServer:
    """Answers each request on the test's own loop with the next bytes, exactly."""

    def __init__(self, *responses: bytes) -> None:
        self.responses = list(responses)
        self.requests: list[str] = []
        """The first line of each."""
        self.heads: list[str] = []
        """All of it but the body, in small letters."""
        self.connections = 0
        self.open: set[asyncio.StreamWriter] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while self.responses:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                if "content-length: " in head:
                    length = head.partition("content-length: ")[2].partition("\r\n")[0]
                    await reader.readexactly(int(length))
                self.heads.append(head)
                self.requests.append(head.partition("\r\n")[0])
                writer.write(self.responses.pop(0))
                await writer.drain()
        writer.close()

    async def close(self) -> None:
        """Drops the connections that clients keep."""
        for writer in self.open:
            writer.close()
        for writer in self.open:
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def raw_server(*responses: bytes) -> AsyncGenerator[RawServer]:
    """A server that closes each connection after the last response."""
    raw = RawServer(*responses)
    listener = await asyncio.start_server(raw.serve, "127.0.0.1", 0)
    raw.port = listener.sockets[0].getsockname()[1]
    try:
        yield raw
    finally:
        listener.close()
        await raw.close()
