"""One request to a model server: attempts, what a failed one means, and which model is served."""

from __future__ import annotations

import json
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit, urlunsplit

from agentworld_sim.errors import ModelFailure, ModelRefused, ModelUnavailable, nearest
from agentworld_sim.llm._stream import (
    BrokenReply,
    FilteredReply,
    MalformedReply,
    ReplyReader,
    mapping,
    read_reply,
)
from agentworld_sim.llm.chat import ServedModel
from agentworld_sim.llm.failures import (
    Failures,
    Refusal,
    TransportError,
    display_url,
    looks_like,
    refusal_in,
    whole,
)
from agentworld_sim.llm.settings import MODEL_VARIABLE, URL_VARIABLE, ModelSettings
from agentworld_sim.llm.transport import Transport

if TYPE_CHECKING:
    import httpx2

FIRST_PAUSE = 0.5
"""Seconds; each further pause may be twice as long."""

LONGEST_PAUSE = 30.0

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

logger = logging.getLogger(__name__)


class Temporary(Exception):
    """A lost connection, a 5xx or a 429."""

    def __init__(self, failure: ModelUnavailable, *, after: float | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        """What to raise when it does not pass."""
        self.after = after
        """Seconds the server asks to wait."""


async def retry(attempt: Callable[[], Awaitable[T]], *, retries: int, sleep: Sleep) -> T:
    """Makes attempts until one is no `Temporary` failure, with pauses in between.

    Raises:
        ModelUnavailable: the last attempt failed too.
    """
    count = 0
    while True:
        try:
            return await attempt()
        except Temporary as error:
            failure, after = error.failure, error.after
        if count == retries:
            break
        seconds = pause(count, after)
        count += 1
        logger.debug("attempt %d failed, the next one comes in %.2f s", count, seconds)
        await sleep(seconds)
    if retries:
        failure.args = (f"{failure.args[0]} It was tried {retries + 1} times.",)
    raise failure


def pause(count: int, after: float | None) -> float:
    """Seconds before the next attempt: full jitter below an exponential bound.

    What a server asks for is kept to, with a little jitter so that not all clients return at once.
    """
    if after is not None:
        return min(after, LONGEST_PAUSE) + random.uniform(0, FIRST_PAUSE)
    return random.uniform(0, min(FIRST_PAUSE * 2**count, LONGEST_PAUSE))


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


LISTING_SECONDS = 60.0
"""How long a server may take that is asked for something that needs no model."""


class ChatTransport:
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
        nonsense: MalformedReply | None = None
        try:
            async with self.transport.send(
                self._chat_url, body, silence=self._silence, seconds=self._seconds, session=session
            ) as response:
                if response.status_code != 200:
                    return await self._refusal(response)
                await read_reply(response, reader, self._silence)
                if reader.refusal is None and not reader.interruption:
                    reader.check()
        except MalformedReply as error:
            nonsense = error
            problem = self.failures.nonsense(str(error), error.hint)
        except BrokenReply as error:
            problem = Temporary(self.failures.broken_reply(str(error)))
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
        except MalformedReply as error:
            raise self.failures.nonsense(f"sends {error}", error.hint) from None

    async def _json(self, url: str, body: bytes | None, seconds: float) -> Refusal | Any:
        problem: Exception
        try:
            # Nothing of it can be used before all is there, so it is silent until then.
            async with self.transport.send(url, body, silence=seconds, seconds=seconds) as response:
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
        path = urlsplit(self._url).path.rstrip("/")
        if path.endswith("/chat/completions"):
            right = display_url(self._url).removesuffix("/chat/completions")
            return f" Give the base URL: set {URL_VARIABLE} to {right}"
        if path.endswith("/v1"):
            return ""
        with suppress(Temporary, MalformedReply, ModelFailure):
            found: object = await self.listing(below="/v1")
            if isinstance(found, dict) and "data" in found:
                return (
                    f" An API answers at {display_url(self._url)}/v1: set {URL_VARIABLE} to that."
                )
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


def _refusal_from_body(body: bytes, status: int) -> Refusal:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return Refusal(status, looks_like(body) if body.strip() else "")
    told = refusal_in(value, status)
    return told or Refusal(status, json.dumps(value))


NO_LIST = (404, 405)
"""What servers without a list of models answer."""

CONTEXT = ("max_model_len", "context_length", "max_context_length", "context_window")
"""What vLLM and SGLang, hosted services and LM Studio call the context's length."""


async def find_model(server: ChatTransport, wanted: str) -> ServedModel:
    """The model of this name, or the only one.

    Raises:
        Temporary: trying again may help.
        ModelFailure: it would not.
    """
    found, refusal = await _listing(server)
    if refusal is not None:
        if refusal.status not in NO_LIST:
            raise server.failures.refusal(refusal)
        hint = await server.where_it_answers()
        if hint or not wanted:
            raise server.failures.missing(refusal.status, refusal.message, hint)
        return ServedModel(wanted, None)
    models = models_in(found)
    if wanted in models:
        return ServedModel(wanted, models[wanted])
    if not wanted and len(models) == 1:
        return ServedModel(*models.popitem())
    raise wrong_name(server, wanted, list(models))


async def names_served(server: ChatTransport) -> list[str] | None:
    """The names a server lists, for a message; `None` when it lists none."""
    try:
        found = await server.listing()
    except (Temporary, MalformedReply):
        return None
    return None if isinstance(found, Refusal) else list(models_in(found)) or None


def wrong_name(server: ChatTransport, wanted: str, names: list[str]) -> ModelRefused:
    """The error that lists what there is."""
    listed = ", ".join(repr(name) for name in names[:20]) or "nothing"
    if len(names) > 20:
        listed = f"{listed} and {len(names) - 20} more"
    what = "does not serve that model." if wanted else "serves several models."
    if not names:
        what = "serves no model yet." if not wanted else what
    return ModelRefused(
        f"{server.failures.place} {what}{nearest(wanted, names)} It serves {listed}. Set"
        f" {MODEL_VARIABLE} to one of them."
    )


async def _listing(server: ChatTransport) -> tuple[Any, Refusal | None]:
    try:
        found = await server.listing()
    except MalformedReply as error:
        what = str(error)
    else:
        return (None, found) if isinstance(found, Refusal) else (found, None)
    hint = await server.where_it_answers()
    raise server.failures.nonsense(f"sends {what} for its list of models", hint)


def models_in(listing: object) -> dict[str, int | None]:
    """The names in a list of models, each with its context length when that is told."""
    entries: object = mapping(listing).get("data")
    if not isinstance(entries, list):
        return {}
    models = [mapping(entry) for entry in cast(list[object], entries)]
    return {str(model["id"]): _context(model) for model in models if model.get("id")}


def _context(model: Mapping[str, Any]) -> int | None:
    told = (model.get(name) for name in CONTEXT)
    return next((tokens for tokens in told if isinstance(tokens, int)), None)
