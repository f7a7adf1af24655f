"""A connection pool in which a request costs the same however many connections there are.

httpx2's own pool looks at every connection, and polls the socket of every idle one, before and after
each request: with a thousand of them that is most of the time a client takes.
"""

from __future__ import annotations

import ssl
import time
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import cast

import httpx2

IDLE_SECONDS = 4.0
"""How long an idle connection is kept. uvicorn, under vLLM and SGLang, closes it after 5 s by
default; a request sent in that moment would be lost."""


@dataclass(slots=True, eq=False)
class Lane:
    """One connection at most."""

    transport: httpx2.AsyncHTTPTransport
    idle_since: float = 0.0


class Lanes(httpx2.AsyncBaseTransport):
    """Sends each request over the connection that was used last, or over a new one.

    How many there can be is decided by whoever asks.
    """

    def __init__(self, verify: ssl.SSLContext) -> None:
        self._verify = verify
        self._all: set[Lane] = set()
        self._idle: deque[Lane] = deque()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        lane = self._idle.pop() if self._idle else self._made()
        try:
            response = await lane.transport.handle_async_request(request)
        except BaseException:
            # Its connection is closed; the next request opens another.
            self._rest(lane)
            raise
        response.stream = _LeasedStream(cast(httpx2.AsyncByteStream, response.stream), self, lane)
        return response

    async def give_back(self, lane: Lane) -> None:
        """Takes a lane back, and closes those that were not needed for long."""
        self._rest(lane)
        # The one at the left has been idle the longest.
        while self._idle and self._idle[0].idle_since < lane.idle_since - IDLE_SECONDS:
            old = self._idle.popleft()
            self._all.discard(old)
            await old.transport.aclose()

    async def aclose(self) -> None:
        lanes, self._all = self._all, set()
        self._idle.clear()
        for lane in lanes:
            await lane.transport.aclose()

    def _made(self) -> Lane:
        limits = httpx2.Limits(max_connections=1, keepalive_expiry=IDLE_SECONDS)
        lane = Lane(httpx2.AsyncHTTPTransport(verify=self._verify, limits=limits))
        self._all.add(lane)
        return lane

    def _rest(self, lane: Lane) -> None:
        lane.idle_since = time.monotonic()
        if lane in self._all:
            self._idle.append(lane)


class _LeasedStream(httpx2.AsyncByteStream):
    """The body of a response; its end frees the lane."""

    def __init__(self, stream: httpx2.AsyncByteStream, lanes: Lanes, lane: Lane) -> None:
        self._stream = stream
        self._lanes = lanes
        self._lane: Lane | None = lane

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        lane, self._lane = self._lane, None
        try:
            await self._stream.aclose()
        finally:
            if lane is not None:
                await self._lanes.give_back(lane)
