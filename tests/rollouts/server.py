"""A small model server that completes token ids, as vLLM does, and fails on request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Handler = Callable[[dict[str, Any]], Awaitable[tuple[int, object]]]
"""Given a request's JSON, the status and the JSON of the answer."""

CUT = -1
"""A status: the connection is closed in the middle of the answer."""


def completion(ids: list[int], *, finish: str = "stop", **fields: object) -> dict[str, Any]:
    """An answer of vLLM 0.32."""
    choice: dict[str, Any] = {
        "index": 0,
        "text": "…",
        "finish_reason": finish,
        "token_ids": ids,
        "logprobs": {"token_logprobs": [-0.25 * (n + 1) for n in range(len(ids))]},
        "prompt_logprobs": None,
    }
    return {"object": "text_completion", "model": "tiny", "choices": [{**choice, **fields}]}


@dataclass(slots=True)
class CompletionServer:
    """What the test sees of it."""

    url: str
    handle: Handler
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    models: tuple[str, ...] = ("tiny",)


@asynccontextmanager
async def serve(handle: Handler) -> AsyncGenerator[CompletionServer]:
    """Serves on the loopback interface until the block ends."""
    state = CompletionServer("", handle)
    writers: set[asyncio.StreamWriter] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        try:
            while await _answered(state, reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    port: int = server.sockets[0].getsockname()[1]
    state.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield state
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()


async def _answered(
    state: CompletionServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Answers one request; whether the connection goes on."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    state.headers.append(headers)
    if first.startswith("GET /v1/models"):
        status, value = 200, {"data": [{"id": name} for name in state.models]}
    elif first.startswith("POST /v1/completions"):
        asked = json.loads(body)
        state.asked.append(asked)
        status, value = await state.handle(asked)
    else:
        status, value = 404, {"detail": "Not Found"}
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    cut = status == CUT
    writer.write(
        f"HTTP/1.1 {200 if cut else status} X\r\ncontent-type: application/json\r\n"
        f"content-length: {len(data)}\r\n\r\n".encode()
    )
    writer.write(data[: len(data) // 2] if cut else data)
    await writer.drain()
    return not cut
