"""Connections to the model server: one pool per event loop, closed with its loop."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import httpx2

from agentworld_sim.errors import UsageError
from agentworld_sim.model._flights import Flights
from agentworld_sim.model._settings import KEY_VARIABLE, ModelSettings

IDLE_SECONDS = 4.0
"""How long an idle connection is kept. uvicorn, under vLLM and SGLang, closes it after 5 s by
default; a request sent in that moment would be lost."""


@dataclass(slots=True, eq=False)
class Line:
    """What one event loop has to do with the server."""

    loop: asyncio.AbstractEventLoop
    http: httpx2.AsyncClient
    slots: asyncio.Semaphore
    """One for each request that may be under way; first come, first served."""
    closing: AsyncGenerator[None]
    flights: Flights[Any] = field(default_factory=Flights[Any])

    async def close(self) -> None:
        await self.flights.end()
        await self.closing.aclose()


class Lines:
    """The lines of all event loops that use a client."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._headers = _headers(settings.api_key)
        self._lines: list[Line] = []
        self._lock = threading.Lock()

    async def of_this_loop(self) -> Line:
        """The line of the running loop, made on first use."""
        loop = asyncio.get_running_loop()
        for line in self._lines:
            if line.loop is loop:
                return line
        http = _http_client(self._settings, self._headers)
        closing = _closed_with_the_loop(http)
        line = Line(loop, http, asyncio.Semaphore(self._settings.concurrency), closing)
        with self._lock:
            # Loops that ended are let go of; their connections went with them.
            self._lines = [old for old in self._lines if not old.loop.is_closed()] + [line]
        # Runs up to its `yield` without giving way, so that no second line is made meanwhile.
        await anext(closing)
        return line

    async def close(self) -> None:
        """Closes the line of the running loop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            closing = [line for line in self._lines if line.loop is loop]
            self._lines = [line for line in self._lines if line.loop is not loop]
        for line in closing:
            await line.close()


async def _closed_with_the_loop(http: httpx2.AsyncClient) -> AsyncGenerator[None]:
    # `asyncio.run` and `asyncio.Runner` close every asynchronous generator that was begun before they
    # close their loop: the one moment at which connections can still be closed in order.
    try:
        yield
    finally:
        await http.aclose()


def _http_client(settings: ModelSettings, headers: dict[str, str]) -> httpx2.AsyncClient:
    parts = urlsplit(settings.url)
    limits = httpx2.Limits(
        # The slots are the limit on connections.
        max_connections=None,
        max_keepalive_connections=settings.concurrency,
        keepalive_expiry=IDLE_SECONDS,
    )
    timeout = httpx2.Timeout(
        connect=settings.connect_seconds,
        read=settings.silence_seconds,
        write=settings.silence_seconds,
        pool=None,
    )
    # Reading the trusted certificates takes milliseconds, for nothing where no TLS is spoken.
    verify: ssl.SSLContext | bool = (
        True if parts.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    )
    # A transport of its own keeps the proxies of the environment out: they cannot reach this host.
    local = (
        httpx2.AsyncHTTPTransport(verify=verify, limits=limits)
        if is_loopback(parts.hostname or "")
        else None
    )
    try:
        return httpx2.AsyncClient(
            headers=headers, timeout=timeout, limits=limits, verify=verify, transport=local
        )
    except ImportError as error:
        raise UsageError(
            "the proxy named in the environment is a SOCKS proxy, for which a package is missing."
            " Install it with: pip install 'httpx2[socks]'"
        ) from error


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine by definition."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _headers(api_key: str) -> dict[str, str]:
    headers = {
        "accept": "text/event-stream, application/json",
        # A compressed stream waits in the compressor's buffer.
        "accept-encoding": "identity",
        "content-type": "application/json",
        "user-agent": "agentworld-sim",
    }
    key = api_key.strip()
    if not key:
        return headers
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"the API key in {KEY_VARIABLE} has characters that no HTTP header can carry. Set it to"
            " the key alone."
        )
    return {**headers, "authorization": f"Bearer {key}"}
