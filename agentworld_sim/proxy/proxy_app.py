"""`ModelProxy`: an ASGI application in front of a model's server. What no handler touches goes through byte for
byte, piece by piece, in both directions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from agentworld_sim.errors import UsageError
from agentworld_sim.proxy.fault_handler import json_reply
from agentworld_sim.proxy.model_calls import (
    ForwardCall,
    ModelCall,
    ModelCallHandler,
    ModelReply,
    ReplyCut,
)

if TYPE_CHECKING:
    import aiohttp

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_OF_THE_CONNECTION = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
    b" transfer-encoding upgrade".split()
)
"""Headers that are about one connection (RFC 9110, 7.6.1) and never go on."""

CONNECT_SECONDS = 10.0
"""Time for a connection to the server. An answer may take as long as its caller waits."""


class ModelProxy:
    """Requests go to the same path of the server. Chat completions go through the handlers, the first the
    outermost."""

    def __init__(self, upstream: str, handlers: Sequence[ModelCallHandler] = ()) -> None:
        """
        Args:
            upstream: Base URL of the server's API, such as `http://127.0.0.1:8000/v1`.
            handlers: What stands between.

        Raises:
            UsageError: it is no URL, or holds a password.
        """
        parts = urlsplit(upstream)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise UsageError(
                "--upstream is the base URL of a model's server, without a password: for example"
                " http://127.0.0.1:8000/v1. Callers bring their own key."
            )
        self.path = parts.path.rstrip("/")
        """Path of the base URL, here as there."""
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._handlers = tuple(handlers)
        self._opened: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            body = await _body(receive)
            answering = asyncio.ensure_future(self._answer(scope, body, send))
            leaving = asyncio.ensure_future(receive())
            try:
                # Nobody generates for a caller who has left.
                await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                leaving.cancel()
                answering.cancel()
                await asyncio.wait({answering})
            if not answering.cancelled():
                answering.result()

    async def aclose(self) -> None:
        """Closes the connections to the server."""
        if self._opened is not None:
            await self._opened.close()

    async def _live(self, receive: Receive, send: Send) -> None:
        while (kind := (await receive())["type"]) != "lifespan.shutdown":
            await send({"type": f"{kind}.complete"})
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _answer(self, scope: Scope, body: bytes, send: Send) -> None:
        async with AsyncExitStack() as stack:
            reply = await self._reply(scope, body, stack)
            start = {"status": reply.status, "headers": list(reply.headers)}
            await send({"type": "http.response.start", **start})
            async for piece in reply.body:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _reply(self, scope: Scope, body: bytes, stack: AsyncExitStack) -> ModelReply:
        query: bytes = scope["query_string"]
        target = scope.get("raw_path", scope["path"].encode()).decode("ascii")
        call = ModelCall(
            request=_request(body),
            body=body,
            method=scope["method"],
            target=f"{target}?{query.decode('ascii')}" if query else target,
            headers=_end_to_end(scope["headers"], b"host", b"content-length"),
        )
        forward: ForwardCall = partial(self._forward, stack)
        if call.request and target.endswith("/chat/completions"):
            for handler in reversed(self._handlers):
                forward = partial(handler.handle, next=forward)
        return await forward(call)

    async def _forward(self, stack: AsyncExitStack, call: ModelCall) -> ModelReply:
        """What the server replies; the connection to it is free again when `stack` ends."""
        import aiohttp
        from yarl import URL

        try:
            response = await stack.enter_async_context(
                self._session().request(
                    call.method,
                    URL(self._origin + call.target, encoded=True),
                    headers=[
                        (name.decode("latin-1"), value.decode("latin-1"))
                        for name, value in call.headers
                    ],
                    data=call.body or None,
                    allow_redirects=False,
                    skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                )
            )
        except aiohttp.ClientError as error:
            told = f"the proxy did not reach the model's server at {self._origin}: {type(error).__name__}"
            return json_reply(502, {"error": {"message": told, "type": "proxy", "code": 502}})
        return ModelReply(
            response.status, _end_to_end(response.raw_headers), _pieces(response.content)
        )

    def _session(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            )
        return self._opened


async def _pieces(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    import aiohttp

    try:
        async for piece in content.iter_any():
            yield piece
    except aiohttp.ClientError:
        # The caller sees what the server did: a reply without an end.
        raise ReplyCut from None


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)


def _request(body: bytes) -> dict[str, Any]:
    try:
        request: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", request) if isinstance(request, dict) else {}


def _end_to_end(
    headers: Sequence[tuple[bytes, bytes]], *others: bytes
) -> list[tuple[bytes, bytes]]:
    """Those that go on: also not those that `Connection` names."""
    named = b",".join(value for name, value in headers if name.lower() == b"connection").lower()
    stay = {*_OF_THE_CONNECTION, *others, *(word.strip() for word in named.split(b","))}
    return [(name, value) for name, value in headers if name.lower() not in stay]
