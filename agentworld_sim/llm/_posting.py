"""One attempt at a request, and what a failed one means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from agentworld_sim.errors import ModelFailure, ModelUnavailable, UsageError
from agentworld_sim.llm._failures import Failures, shown
from agentworld_sim.llm._retry import Temporary, seconds_until
from agentworld_sim.llm._stream import (
    LARGEST_REPLY,
    Broken,
    EventReader,
    Malformed,
    ReplyReader,
    too_large,
)
from agentworld_sim.llm.refusals import Refusal, looks_like, refusal_in
from agentworld_sim.llm.settings import URL_VARIABLE, ModelSettings

LEFTOVER_SECONDS = 0.5
"""How long to wait for the end of a stream that has said it is done, to keep its connection."""

SESSION_HEADER = "X-Session-ID"
"""What vLLM's router (0.1.17) sends to one replica with its policy `consistent_hash`."""

LISTING_SECONDS = 60.0
"""How long a server may be silent that is asked for something that needs no model."""


class Posting:
    """Sends requests to one server. Holds no connection."""

    def __init__(self, settings: ModelSettings) -> None:
        self.failures = Failures(settings)
        self._silence = settings.silence_seconds
        self._url = settings.url
        try:
            # Parsed once, not for every request. A port that is none shows only when it is looked at.
            self._chat_url = httpx2.URL(self.address("/chat/completions"))
            _ = urlsplit(self._url).port
        except (httpx2.InvalidURL, ValueError) as error:
            raise UsageError(f"the model URL {shown(self._url)!r} is not one: {error}.") from None

    def address(self, path: str, *, below: str = "") -> str:
        """A page of the API; a query of the base URL stays."""
        parts = urlsplit(self._url)
        whole = f"{parts.path.rstrip('/')}{below}{path}"
        return urlunsplit((parts.scheme, parts.netloc, whole, parts.query, ""))

    async def chat(
        self, http: httpx2.AsyncClient, body: bytes, reader: ReplyReader, *, session: str
    ) -> Refusal | None:
        """Posts a chat request and reads the reply; returns what the server has against it.

        Requests of one `session` begin alike; a router may keep them together.

        Raises:
            Temporary: trying again may help.
            ModelFailure: it would not.
        """
        problem: Exception
        nonsense: Malformed | None = None
        try:
            async with http.stream(
                "POST", self._chat_url, content=body, headers={SESSION_HEADER: session}
            ) as response:
                if response.status_code != 200:
                    return await self._refusal(response)
                await _read_reply(response, reader)
                if reader.refusal is None and not reader.interruption:
                    reader.check()
        except (httpx2.ReadTimeout, httpx2.WriteTimeout):
            problem = self.failures.silence(self._silence)
        except Malformed as error:
            nonsense = error
            problem = self.failures.nonsense(str(error), error.hint)
        except Broken as error:
            problem = Temporary(self.failures.broken(str(error)))
        except httpx2.HTTPError as error:
            problem = self._connection(error)
        else:
            if reader.refusal is None or reader.refusal.status in (400, 404, 422):
                return reader.refusal
            problem = self._reported(reader)
        if nonsense and not nonsense.hint and not reader.began:
            problem = self.failures.nonsense(str(nonsense), await self.where_it_answers(http))
        # Raised out here so that it drags no request, and no key in its headers, along.
        raise problem

    async def listing(self, http: httpx2.AsyncClient, *, below: str = "") -> Refusal | Any:
        """The JSON of the page that lists the models, or what the server has against asking.

        Raises:
            Temporary, ModelFailure: as `chat`.
        """
        seconds = min(LISTING_SECONDS, self._silence)
        return await self._json(http, "GET", self.address("/models", below=below), seconds)

    async def post(self, http: httpx2.AsyncClient, path: str, body: bytes) -> Refusal | Any:
        """Posts a request whose answer comes as a whole, and gives its JSON; or what the server has
        against it.

        Raises:
            Temporary, ModelFailure: as `chat`.
        """
        return await self._json(http, "POST", self.address(path), self._silence, body)

    async def _json(
        self,
        http: httpx2.AsyncClient,
        method: str,
        url: str,
        seconds: float,
        body: bytes | None = None,
    ) -> Refusal | Any:
        problem: Exception
        try:
            timeout = httpx2.Timeout(seconds, connect=http.timeout.connect, pool=None)
            async with http.stream(method, url, content=body, timeout=timeout) as response:
                if response.status_code != 200:
                    return await self._refusal(response)
                received = await _read_all(response)
        except httpx2.ReadTimeout:
            problem = self.failures.silence(seconds)
        except Malformed as error:
            problem = self.failures.nonsense(str(error), error.hint)
        except httpx2.HTTPError as error:
            problem = self._connection(error)
        else:
            try:
                return json.loads(received)
            except (ValueError, RecursionError):
                problem = Malformed(looks_like(received))
        raise problem

    async def where_it_answers(self, http: httpx2.AsyncClient) -> str:
        """A hint at the right URL, when an API answers below this one."""
        path = urlsplit(self._url).path.rstrip("/")
        if path.endswith("/chat/completions"):
            right = shown(self._url).removesuffix("/chat/completions")
            return f" Give the base URL: set {URL_VARIABLE} to {right}"
        if path.endswith("/v1"):
            return ""
        with suppress(Temporary, Malformed, ModelFailure):
            found: object = await self.listing(http, below="/v1")
            if isinstance(found, dict) and "data" in found:
                return f" An API answers at {shown(self._url)}/v1: set {URL_VARIABLE} to that."
        return ""

    def _reported(self, reader: ReplyReader) -> Exception:
        assert reader.refusal is not None
        failure = self.failures.reported(reader.refusal)
        # In the middle of a stream no status can be told any more, so the code there is one. A whole
        # answer that says 200 comes from something that would say so again.
        if reader.streamed and isinstance(failure, ModelUnavailable):
            return Temporary(failure)
        return failure

    def _connection(self, error: httpx2.HTTPError) -> Exception:
        failure = self.failures.connection(error)
        # A certificate does not get better by itself.
        return failure if "over TLS" in str(failure) else Temporary(failure)

    async def _refusal(self, response: httpx2.Response) -> Refusal:
        """What an answer other than 200 says.

        Raises:
            Temporary: a 5xx or a 429.
            ModelFailure: a redirect.
        """
        status = response.status_code
        if response.is_redirect:
            raise self.failures.redirect(status, response.headers.get("location", ""))
        body = await _read_all(response)
        refusal = _said(body, status)
        if status == 429 or status >= 500:
            failure = self.failures.unavailable(status, refusal.message)
            raise Temporary(failure, after=seconds_until(response.headers.get("retry-after")))
        return refusal


def _said(body: bytes, status: int) -> Refusal:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return Refusal(status, looks_like(body) if body.strip() else "")
    told = refusal_in(value, status)
    return told or Refusal(status, json.dumps(value))


async def _read_reply(response: httpx2.Response, reader: ReplyReader) -> None:
    if "event-stream" not in response.headers.get("content-type", ""):
        reader.whole(await _read_all(response))
        return
    events = EventReader()
    async with aclosing(response.aiter_bytes()) as received:
        async for data in received:
            _take_all(events.feed(data), reader)
            if reader.ended:
                break
        if reader.done:
            # The connection can be used again once the response is read to its end.
            with suppress(TimeoutError, httpx2.HTTPError):
                async with asyncio.timeout(LEFTOVER_SECONDS):
                    async for _ in received:
                        pass
    if not reader.ended:
        _take_all(events.end(), reader)


def _take_all(events: Iterable[bytes], reader: ReplyReader) -> None:
    for event in events:
        reader.event(event)
        if reader.ended:
            return


async def _read_all(response: httpx2.Response) -> bytes:
    pieces: list[bytes] = []
    size = 0
    async for data in response.aiter_bytes():
        pieces.append(data)
        size += len(data)
        if size > LARGEST_REPLY:
            raise too_large("an answer")
    return b"".join(pieces)
