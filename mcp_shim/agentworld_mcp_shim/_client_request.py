"""A client's request while an upstream answers it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio
import httpx2
from mcp.server.connection import allowed_log_levels
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from mcp.server.connection import Connection
    from mcp.server.context import ServerRequestContext


class ClientRequest:
    """A client's request, and the ways back to that client.

    The SDK gives handlers only typed helpers, which drop fields that they do not know. This is the one
    place that reaches behind them.
    """

    def __init__(self, context: ServerRequestContext[Any]) -> None:
        self._context = context
        self._own = context.session._request_outbound  # pyright: ignore[reportPrivateUsage]
        self.connection: Connection = context.session._connection  # pyright: ignore[reportPrivateUsage]
        """What the SDK keeps of the client: a session in the older era, one request in the newest."""
        self.progress_token = progress_token_from_params(context.params)
        """The client's; `None` when it does not want to know."""
        self.id = context.request_id
        """The client's name for it."""
        self.on_stream_end: Callable[[], None] | None = None
        """Told when the upstream ends the stream of its answer before the answer."""
        self._clock: asyncio.Timeout | None = None
        self._seconds: float | None = None

    @property
    def modern(self) -> bool:
        """Whether the client speaks the newest era, in which it cannot be asked anything."""
        return self._context.protocol_version in MODERN_PROTOCOL_VERSIONS

    def wants(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether the client shall be told: in the newest era it says for each request what it logs."""
        if method != "notifications/message":
            return True
        meta: Any = self._context.meta
        return params.get("level") in allowed_log_levels(self._context.protocol_version, meta)

    async def notify(self, method: str, params: Mapping[str, Any] | None) -> None:
        """Sends a notification that belongs to this request."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._own.notify(method, params)

    async def ask(self, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
        """Asks the client, without a limit of time: a person may have to answer, or refuse (`MCPError`)."""
        if self._clock is not None:
            self._clock.reschedule(None)
        try:
            return await self._own.send_raw_request(method, params)
        finally:
            self.renew_time()

    async def end_stream(self) -> None:
        """Ends the stream of an answer over HTTP that the client can ask for again, as upstreams do."""
        if self._context.close_sse_stream is not None:
            await self._context.close_sse_stream()

    def limit(self, clock: asyncio.Timeout, seconds: float | None) -> None:
        """Says what ends the request when the upstream keeps silent for so long."""
        self._clock, self._seconds = clock, seconds

    def renew_time(self) -> None:
        """Lets the upstream's time begin anew."""
        if self._clock is not None and self._seconds is not None:
            with suppress(RuntimeError):  # It has just run out.
                self._clock.reschedule(asyncio.get_running_loop().time() + self._seconds)


CURRENT_REQUEST: ContextVar[ClientRequest | None] = ContextVar("client request", default=None)
"""Set while a request is sent. Over HTTP, what arrives on its response stream arrives in this context."""


async def watch_end(response: httpx2.Response) -> None:
    """A hook of an HTTP client: sees to it that a client's stream ends where the upstream ends its own."""
    kind = response.headers.get("content-type", "")
    stream = response.stream
    if response.request.method == "POST" and kind.startswith("text/event-stream"):
        assert isinstance(stream, httpx2.AsyncByteStream)
        response.stream = _WatchedStream(stream)


class _WatchedStream(httpx2.AsyncByteStream):
    def __init__(self, behind: httpx2.AsyncByteStream) -> None:
        self._behind = behind

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._behind:
            yield chunk
        # Whoever has its answer reads no further, so here there was none yet.
        call = CURRENT_REQUEST.get()
        if call is not None and call.on_stream_end is not None:
            call.on_stream_end()

    async def aclose(self) -> None:
        await self._behind.aclose()
