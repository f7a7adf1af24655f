"""Requests to model servers: the `openai` SDK's client over aiohttp, and responses read as they come.

The one way from here to any model server: world model, judge, policies and doctor. The SDK is imported
with the first request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from agentworld_sim.errors import UsageError
from agentworld_sim.llm._sharing import SingleFlight
from agentworld_sim.llm.failures import TransportError
from agentworld_sim.llm.settings import KEY_VARIABLE, ModelSettings

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


@dataclass(slots=True, eq=False)
class Connections:
    """What one event loop has to do with the server."""

    loop: asyncio.AbstractEventLoop
    sdk: AsyncOpenAI
    slots: asyncio.Semaphore
    """One for each request that may be under way; first come, first served."""
    closing: AsyncGenerator[None]
    single_flight: SingleFlight[Any] = field(default_factory=SingleFlight[Any])

    async def close(self) -> None:
        await self.single_flight.end()
        await self.closing.aclose()


class Transport:
    """Sends requests to one server; holds its connections, a set for each event loop that asks."""

    def __init__(self, settings: ModelSettings) -> None:
        """
        Raises:
            UsageError: the key cannot be sent.
        """
        self._settings = settings
        self._headers = _headers(settings.api_key)
        self._all: list[Connections] = []
        self._lock = threading.Lock()

    @asynccontextmanager
    async def send(
        self,
        url: str,
        body: bytes | None = None,
        *,
        silence: float,
        seconds: float,
        session: str = "",
    ) -> AsyncGenerator[httpx2.Response]:
        """Sends a request once; gives the response, whatever its status, to be read within the block.

        Args:
            url: Absolute.
            body: JSON that is posted; `None` fetches the page.
            silence: Most seconds without a byte.
            seconds: Most seconds for all of it, up to the end of the block.
            session: Requests of one session begin alike; a router may keep them together.

        Raises:
            TransportError: nothing came back, or it broke off, also in the middle of the block.
        """
        from agentworld_sim.llm import _sdk

        problem: TransportError
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                connections = await self.of_this_loop()
                response = await _sdk.send(
                    connections.sdk,
                    url,
                    body,
                    session=session,
                    connect=self._settings.connect_seconds,
                    silence=silence,
                )
                try:
                    yield response
                    return
                finally:
                    await response.aclose()
        except TimeoutError:
            if not limit.expired():
                raise
            # Where the whole is to come at once, it is silent until then.
            problem = TransportError("silent" if seconds == silence else "late", seconds=seconds)
        except _sdk.LOST as error:
            problem = _sdk.classify(error)
            problem.seconds = silence
        # Raised out here so that it drags no request, and no key in its headers, along.
        raise problem

    async def of_this_loop(self) -> Connections:
        """The connections of the running loop, made on first use."""
        loop = asyncio.get_running_loop()
        for connections in self._all:
            if connections.loop is loop:
                return connections
        from agentworld_sim.llm import _sdk

        sdk = _sdk.client(
            self._settings, self._headers, proxied=_behind_a_proxy(self._settings.url)
        )
        slots = asyncio.Semaphore(self._settings.concurrency)
        closing = _closed_with_the_loop(sdk)
        made = Connections(loop, sdk, slots, closing)
        with self._lock:
            # Loops that ended are let go of; their connections went with them.
            self._all = [old for old in self._all if not old.loop.is_closed()] + [made]
        # Runs up to its `yield` without giving way, so that no second set is made meanwhile.
        await anext(closing)
        return made

    async def close(self) -> None:
        """Closes the connections of the running loop. The transport can be used again."""
        loop = asyncio.get_running_loop()
        with self._lock:
            closing = [one for one in self._all if one.loop is loop]
            self._all = [one for one in self._all if one.loop is not loop]
        for connections in closing:
            await connections.close()


async def _closed_with_the_loop(sdk: AsyncOpenAI) -> AsyncGenerator[None]:
    # `asyncio.run` and `asyncio.Runner` close every asynchronous generator that was begun before they
    # close their loop: the one moment at which connections can still be closed in order.
    try:
        yield
    finally:
        await sdk.close()


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
