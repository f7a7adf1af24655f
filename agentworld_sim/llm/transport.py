"""Requests to model servers: the `openai` SDK's client over aiohttp, and responses read as they come.

The one way from here to any model server: world model, judge, policies and doctor. The SDK is imported
with the first request.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from agentworld_sim.errors import ModelFailure, ModelUnavailable, UsageError
from agentworld_sim.llm._sharing import SingleFlight
from agentworld_sim.llm._stream import (
    FilteredReply,
    MalformedReply,
    ReplyReader,
    read_reply,
)
from agentworld_sim.llm.failures import (
    Failures,
    Refusal,
    TransportError,
    display_url,
    looks_like,
    refusal_in,
    whole,
)
from agentworld_sim.llm.settings import KEY_VARIABLE, URL_VARIABLE, ModelSettings

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


LISTING_SECONDS = 60.0
"""How long a server may take that is asked for something that needs no model."""


class Temporary(Exception):
    """A lost connection, a 5xx or a 429."""

    def __init__(self, failure: ModelUnavailable, *, after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        """What to raise when it does not pass."""
        self.after = after
        """Seconds the server asks to wait."""


class ChatTransport:
    """Sends requests to one server, each of them once; holds its connections, a set for each event loop that
    asks."""

    def __init__(self, settings: ModelSettings) -> None:
        """
        Raises:
            UsageError: the key cannot be sent.
        """
        self.failures = Failures(settings)
        self._settings = settings
        self._headers = _headers(settings.api_key)
        self._all: list[Connections] = []
        self._lock = threading.Lock()

    def address(self, path: str, *, below: str = "") -> str:
        """A page of the API; a query of the base URL stays."""
        parts = urlsplit(self._settings.url)
        whole = f"{parts.path.rstrip('/')}{below}{path}"
        return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))

    async def chat(self, body: bytes, reader: ReplyReader, *, session: str) -> Refusal | None:
        """Posts a chat request and reads the reply; returns what the server has against it.

        Requests of one `session` begin alike; a router may keep them together.

        Raises:
            Temporary: trying again may help.
            ModelFailure: it would not.
        """
        problem: Exception
        nonsense: MalformedReply | None = None
        try:
            async with self.send(
                self.address("/chat/completions"),
                body,
                silence=self._settings.silence_seconds,
                seconds=self._settings.reply_seconds,
                session=session,
            ) as response:
                if response.status_code != 200:
                    return await self._refusal(response)
                await read_reply(response, reader, self._settings.silence_seconds)
                if reader.refusal is None and not reader.interruption:
                    reader.check()
        except MalformedReply as error:
            nonsense = error
            failure = self.failures.nonsense(str(error), error.hint)
            problem = Temporary(failure) if error.temporary else failure
        except FilteredReply:
            problem = self.failures.content_filter()
        except TransportError as error:
            problem = self._transport_failure(error)
        else:
            if reader.refusal is None or reader.refusal.status in (400, 404, 422):
                return reader.refusal
            problem = self._failure_in_reply(reader)
        if nonsense and not nonsense.hint and not reader.began:
            problem = self.failures.nonsense(str(nonsense), await self.where_it_answers())
        # Raised out here so that it drags no request, and no key in its headers, along.
        raise problem

    async def listing(self, *, below: str = "") -> Refusal | Any:
        """The JSON of the page that lists the models, or what the server has against asking.

        Raises:
            MalformedReply: it is no JSON.
            Temporary, ModelFailure: as `chat`.
        """
        seconds = min(LISTING_SECONDS, self._settings.silence_seconds)
        return await self._json(self.address("/models", below=below), None, seconds)

    async def post(self, path: str, body: bytes) -> Refusal | Any:
        """Posts a request whose answer comes as a whole, and gives its JSON; or what the server has
        against it.

        Raises:
            Temporary, ModelFailure: as `chat`.
        """
        try:
            return await self._json(self.address(path), body, self._settings.silence_seconds)
        except MalformedReply as error:
            raise self.failures.nonsense(f"sends {error}", error.hint) from None

    async def _json(self, url: str, body: bytes | None, seconds: float) -> Refusal | Any:
        problem: Exception
        try:
            # Nothing of it can be used before all is there, so it is silent until then.
            async with self.send(url, body, silence=seconds, seconds=seconds) as response:
                if response.status_code != 200:
                    return await self._refusal(response)
                received = await whole(response.aiter_bytes())
        except TransportError as error:
            problem = self._transport_failure(error)
        else:
            try:
                return json.loads(received)
            except (ValueError, RecursionError):
                problem = MalformedReply(looks_like(received))
        raise problem

    async def where_it_answers(self) -> str:
        """A hint at the right URL, when an API answers below this one."""
        path = urlsplit(self._settings.url).path.rstrip("/")
        if path.endswith("/chat/completions"):
            right = display_url(self._settings.url).removesuffix("/chat/completions")
            return f" Give the base URL: set {URL_VARIABLE} to {right}"
        if path.endswith("/v1"):
            return ""
        with suppress(Temporary, MalformedReply, ModelFailure):
            found: object = await self.listing(below="/v1")
            if isinstance(found, dict) and "data" in found:
                return f" An API answers at {display_url(self._settings.url)}/v1: set {URL_VARIABLE} to that."
        return ""

    def _failure_in_reply(self, reader: ReplyReader) -> Exception:
        assert reader.refusal is not None
        failure = self.failures.error_in_reply(reader.refusal)
        # In the middle of a stream no status can be told any more, so the code there is one. A whole
        # answer that says 200 comes from something that would say so again.
        if reader.streamed and isinstance(failure, ModelUnavailable):
            return Temporary(failure)
        return failure

    def _transport_failure(self, error: TransportError) -> Exception:
        failure = self.failures.connection(error)
        # What comes after long waiting, and what does not get better by itself, is not tried again.
        final = ("tls", "silent", "late", "too large")
        return failure if error.cause in final else Temporary(failure)

    async def _refusal(self, response: httpx2.Response) -> Refusal:
        """What an answer other than 200 says.

        Raises:
            Temporary: a 5xx or a 429.
            ModelFailure: a redirect.
        """
        status = response.status_code
        location = response.headers.get("location")
        if 300 <= status < 400 and location is not None:
            raise self.failures.redirect(status, location)
        body = await whole(response.aiter_bytes())
        refusal = _refusal_from_body(body, status)
        if status == 429 or status >= 500:
            failure = self.failures.unavailable(status, refusal.message)
            raise Temporary(failure, after=seconds_until(response.headers.get("retry-after")))
        return refusal

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


def _refusal_from_body(body: bytes, status: int) -> Refusal:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return Refusal(status, looks_like(body) if body.strip() else "")
    told = refusal_in(value, status)
    return told or Refusal(status, json.dumps(value))


def seconds_until(retry_after: str | None) -> float | None:
    """The seconds of a `Retry-After` header, which has seconds or a date (RFC 9110, 10.2.3)."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    # `nan` and `inf` are numbers to Python, and no time to wait.
    return max(seconds, 0.0) if math.isfinite(seconds) else None


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
