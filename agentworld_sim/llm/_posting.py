"""One attempt at a request, and what a failed one means."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agentworld_sim.errors import ModelFailure, ModelUnavailable
from agentworld_sim.llm._retry import Temporary, seconds_until
from agentworld_sim.llm._stream import (
    Broken,
    Filtered,
    Malformed,
    ReplyReader,
    read_reply,
)
from agentworld_sim.llm.failures import Failures, shown
from agentworld_sim.llm.refusals import Refusal, looks_like, refusal_in
from agentworld_sim.llm.settings import URL_VARIABLE, ModelSettings
from agentworld_sim.llm.transport import Response, Transport, TransportError

LISTING_SECONDS = 60.0
"""How long a server may take that is asked for something that needs no model."""


class Posting:
    """Sends requests to one server, each of them once."""

    def __init__(self, settings: ModelSettings) -> None:
        """
        Raises:
            UsageError: the key cannot be sent.
        """
        self.failures = Failures(settings)
        self.transport = Transport(settings)
        self._silence = settings.silence_seconds
        self._seconds = settings.reply_seconds
        self._url = settings.url
        self._chat_url = self.address("/chat/completions")

    def address(self, path: str, *, below: str = "") -> str:
        """A page of the API; a query of the base URL stays."""
        parts = urlsplit(self._url)
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
        nonsense: Malformed | None = None
        try:
            async with self.transport.send(
                self._chat_url, body, silence=self._silence, seconds=self._seconds, session=session
            ) as response:
                if response.status != 200:
                    return await self._refusal(response)
                await read_reply(response, reader, self._silence)
                if reader.refusal is None and not reader.interruption:
                    reader.check()
        except Malformed as error:
            nonsense = error
            problem = self.failures.nonsense(str(error), error.hint)
        except Broken as error:
            problem = Temporary(self.failures.broken(str(error)))
        except Filtered:
            problem = self.failures.filtered()
        except TransportError as error:
            problem = self._lost(error)
        else:
            if reader.refusal is None or reader.refusal.status in (400, 404, 422):
                return reader.refusal
            problem = self._reported(reader)
        if nonsense and not nonsense.hint and not reader.began:
            problem = self.failures.nonsense(str(nonsense), await self.where_it_answers())
        # Raised out here so that it drags no request, and no key in its headers, along.
        raise problem

    async def listing(self, *, below: str = "") -> Refusal | Any:
        """The JSON of the page that lists the models, or what the server has against asking.

        Raises:
            Malformed: it is no JSON.
            Temporary, ModelFailure: as `chat`.
        """
        seconds = min(LISTING_SECONDS, self._silence)
        return await self._json(self.address("/models", below=below), None, seconds)

    async def post(self, path: str, body: bytes) -> Refusal | Any:
        """Posts a request whose answer comes as a whole, and gives its JSON; or what the server has
        against it.

        Raises:
            Temporary, ModelFailure: as `chat`.
        """
        try:
            return await self._json(self.address(path), body, self._silence)
        except Malformed as error:
            raise self.failures.nonsense(f"sends {error}", error.hint) from None

    async def _json(self, url: str, body: bytes | None, seconds: float) -> Refusal | Any:
        problem: Exception
        try:
            # Nothing of it can be used before all is there, so it is silent until then.
            async with self.transport.send(url, body, silence=seconds, seconds=seconds) as response:
                if response.status != 200:
                    return await self._refusal(response)
                received = await response.read()
        except TransportError as error:
            problem = self._lost(error)
        else:
            try:
                return json.loads(received)
            except (ValueError, RecursionError):
                problem = Malformed(looks_like(received))
        raise problem

    async def where_it_answers(self) -> str:
        """A hint at the right URL, when an API answers below this one."""
        path = urlsplit(self._url).path.rstrip("/")
        if path.endswith("/chat/completions"):
            right = shown(self._url).removesuffix("/chat/completions")
            return f" Give the base URL: set {URL_VARIABLE} to {right}"
        if path.endswith("/v1"):
            return ""
        with suppress(Temporary, Malformed, ModelFailure):
            found: object = await self.listing(below="/v1")
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

    def _lost(self, error: TransportError) -> Exception:
        failure = self.failures.connection(error)
        # What comes after long waiting, and what does not get better by itself, is not tried again.
        final = ("tls", "silent", "late", "too large")
        return failure if error.cause in final else Temporary(failure)

    async def _refusal(self, response: Response) -> Refusal:
        """What an answer other than 200 says.

        Raises:
            Temporary: a 5xx or a 429.
            ModelFailure: a redirect.
        """
        status = response.status
        location = response.headers.get("location")
        if 300 <= status < 400 and location is not None:
            raise self.failures.redirect(status, location)
        body = await response.read()
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
