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
from urllib.request import getproxies, proxy_bypass

import httpx2

from agentworld_sim.errors import UsageError
from agentworld_sim.llm._flights import Flights
from agentworld_sim.llm._lanes import IDLE_SECONDS, Lanes
from agentworld_sim.llm.settings import KEY_VARIABLE, ModelSettings


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
        self._verify: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    async def of_this_loop(self) -> Line:
        """The line of the running loop, made on first use."""
        loop = asyncio.get_running_loop()
        for line in self._lines:
            if line.loop is loop:
                return line
        http = _http_client(self._settings, self._headers, self._certificates())
        closing = _closed_with_the_loop(http)
        line = Line(loop, http, asyncio.Semaphore(self._settings.concurrency), closing)
        with self._lock:
            # Loops that ended are let go of; their connections went with them.
            self._lines = [old for old in self._lines if not old.loop.is_closed()] + [line]
        # Runs up to its `yield` without giving way, so that no second line is made meanwhile.
        await anext(closing)
        return line

    def _certificates(self) -> ssl.SSLContext:
        """What is trusted, read once: that takes tens of milliseconds."""
        with self._lock:
            if self._verify is None:
                tls = urlsplit(self._settings.url).scheme == "https"
                self._verify = (
                    httpx2.create_ssl_context() if tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                )
            return self._verify

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


def _http_client(
    settings: ModelSettings, headers: dict[str, str], verify: ssl.SSLContext
) -> httpx2.AsyncClient:
    timeout = httpx2.Timeout(
        connect=settings.connect_seconds,
        read=settings.silence_seconds,
        write=settings.silence_seconds,
        pool=None,
    )
    if not _behind_a_proxy(settings.url):
        return httpx2.AsyncClient(headers=headers, timeout=timeout, transport=Lanes(verify))
    limits = httpx2.Limits(
        # The slots are the limit on connections.
        max_connections=None,
        max_keepalive_connections=settings.concurrency,
        keepalive_expiry=IDLE_SECONDS,
    )
    try:
        return httpx2.AsyncClient(headers=headers, timeout=timeout, limits=limits, verify=verify)
    except ImportError as error:
        raise UsageError(
            "the proxy named in the environment is a SOCKS proxy, for which a package is missing."
            " Install it with: pip install 'httpx2[socks]'"
        ) from error


def _behind_a_proxy(url: str) -> bool:
    """Whether the environment names a proxy for a URL. One cannot reach this host as we do."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = getproxies()
    if not (parts.scheme in proxies or "all" in proxies) or is_loopback(host):
        return False
    return not proxy_bypass(host)


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
