"""The client of a chat-completions server."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, cast

from agentworld_sim.errors import ModelFailure, ModelRefused, nearest
from agentworld_sim.llm._server_quirks import ServerQuirks
from agentworld_sim.llm._sharing import FlightCancelled, RepliesCache
from agentworld_sim.llm._stream import MalformedReply, ReplyReader, mapping
from agentworld_sim.llm.chat import (
    ChatReply,
    ChatRequest,
    Listener,
    PreparedRequest,
    ServedModel,
    Watch,
)
from agentworld_sim.llm.failures import Refusal
from agentworld_sim.llm.settings import MODEL_VARIABLE, ModelSettings
from agentworld_sim.llm.transport import ChatTransport, Connections, Temporary

T = TypeVar("T")

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.5
"""Seconds; each further pause may be twice as long."""

LONGEST_PAUSE = 30.0

Sleep = Callable[[float], Awaitable[None]]

NO_LIST = (404, 405)
"""What servers without a list of models answer."""

CONTEXT = ("max_model_len", "context_length", "max_context_length", "context_window")
"""What vLLM and SGLang, hosted services and LM Studio call the context's length."""


class ChatClient:
    """Asks an OpenAI-compatible server. One instance serves any number of worlds and event loops.

    Connections, the limit on requests under way and the sharing of equal ones belong to an event
    loop; finished replies and what was learnt of the server belong to the instance.

    Args:
        settings: where the server is and how it is asked.
        sleep: waits between two attempts; tests give their own.
    """

    def __init__(self, settings: ModelSettings, *, sleep: Sleep = asyncio.sleep) -> None:
        self.settings = settings
        self._sleep = sleep
        self._server = ChatTransport(settings)
        self._cache = RepliesCache(settings.cache_entries)
        self._quirks = ServerQuirks()
        self._served: ServedModel | None = None

    async def ask(
        self,
        request: ChatRequest,
        *,
        watch: Watch | None = None,
        listener: Listener | None = None,
    ) -> ChatReply:
        """Sends one request and waits for its reply.

        Equal requests have equal replies: from the cache, or from one request to the server when
        they are under way together. All watches of one client must judge alike, since equal requests
        share the reply that the first one's watch looked at. Cancelling the last who waits for a
        reply closes the connection. A `listener` hears a reply that is written for this very
        request; one that is there or under way already is not read out to it.

        A lost connection, also in the middle of a reply, a 5xx and a 429 are tried again; silence
        and everything else is not.

        Raises:
            ModelUnavailable: no connection, no answer, a broken one.
            ModelRefused: the server refuses the request; `ContextOverflow` when it is too long.
            UsageError: the seed is none, or the key cannot be sent.
        """
        began = time.perf_counter()
        model = self.settings.model or (await self.served_model()).name
        sent = PreparedRequest.of(request, self.settings, model)
        if (known := self._cache.get(sent.key)) is not None:
            logger.debug("a reply of %d characters comes from the cache", len(known.content))
            return replace(known, source="cache", seconds=0.0, first_token_seconds=None)
        connections = await self._server.of_this_loop()
        reply, joined = await self._ask_once(
            connections, sent.key, lambda: self._fetch(connections, sent, watch, listener)
        )
        if not joined:
            return reply
        seconds = time.perf_counter() - began
        return replace(reply, source="shared", seconds=seconds, first_token_seconds=None)

    async def complete(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """Asks for a text completion, for those who deal in tokens, and waits for its only choice.

        It is sent as it is: nothing is shared, kept or left out. What may pass is tried again, as in
        `ask`.

        Args:
            fields: The request but for the model's name.

        Raises:
            ModelFailure: as `ask`, or what came is no completion.
        """
        model = self.settings.model or (await self.served_model()).name
        body = json.dumps({"model": model, **fields}).encode()
        connections = await self._server.of_this_loop()
        async with connections.slots:
            answer = await self._retry(lambda: self._server.post("/completions", body))
        if isinstance(answer, Refusal):
            raise self._server.failures.refusal(answer)
        try:
            choice: object = answer["choices"][0]
        except (KeyError, IndexError, TypeError):
            choice = None
        if not isinstance(choice, dict):
            self.unusable(
                "answers with JSON that is no completion. Is it an OpenAI-compatible server?"
            )
        return cast(dict[str, Any], choice)

    def unusable(self, what: str) -> NoReturn:
        """Raises a `ModelFailure` about the server: it `what`."""
        raise ModelFailure(f"{self._server.failures.place} {what}")

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of requests that the server turned out not to take."""
        return self._quirks.dropped

    async def forget(self, request: ChatRequest) -> None:
        """Does not answer an equal request from memory: its reply could not be used."""
        model = self.settings.model or (await self.served_model()).name
        self._cache.drop(PreparedRequest.of(request, self.settings, model).key)

    async def served_model(self) -> ServedModel:
        """The model that is asked, as the server describes it. Asked of the server once.

        A server without a list of models is taken at the word of the settings.

        Raises:
            ModelUnavailable: as `ask`.
            ModelRefused: the name is not served (the message lists what is), or the key is refused.
        """
        if self._served is not None:
            return self._served
        connections = await self._server.of_this_loop()
        found, _ = await self._ask_once(connections, "served", self._look_up)
        self._served = found
        self._server.failures.model = found.name
        return found

    async def close(self) -> None:
        """Closes the connections of the running event loop. The client can be used again."""
        await self._server.close()

    async def _ask_once(
        self, connections: Connections, key: bytes | str, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        try:
            return await connections.single_flight.do(key, work)
        except FlightCancelled:
            failure = self._server.failures.closed_client()
        raise failure

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Makes attempts until one is no `Temporary` failure, with pauses in between.

        Raises:
            ModelUnavailable: the last attempt failed too.
        """
        retries, count = self.settings.retries, 0
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
            await self._sleep(seconds)
        if retries:
            failure.args = (f"{failure.args[0]} It was tried {retries + 1} times.",)
        raise failure

    async def _look_up(self) -> ServedModel:
        return await self._retry(lambda: find_model(self._server, self.settings.model))

    async def _fetch(
        self,
        connections: Connections,
        sent: PreparedRequest,
        watch: Watch | None,
        listener: Listener | None,
    ) -> ChatReply:
        began = time.perf_counter()
        # Held through the pauses as well: a server that is overloaded gets no more than before.
        async with connections.slots:
            reply = await self._retry(
                lambda: self._attempt(sent, ReplyReader(watch, listener), began)
            )
        self._cache.put(sent.key, reply)
        return reply

    async def _attempt(self, sent: PreparedRequest, reader: ReplyReader, began: float) -> ChatReply:
        quirks = self._quirks
        while True:
            fields = quirks.apply(sent.fields)
            body = sent.body(fields)
            reader = ReplyReader(reader.watch, reader.listener)
            if reader.listener is not None:
                reader.listener.begin()
            refusal = await self._server.chat(body, reader, session=sent.session)
            if refusal is None:
                break
            taught = quirks.learn(refusal, fields)
            if taught is None:
                raise await self._explain(refusal, fields["model"])
            quirks = taught
        self._remember(quirks)
        seconds = time.perf_counter() - began
        reply = ChatReply(
            content=reader.content,
            thinking=reader.thinking,
            thinking_field=reader.thinking_field,
            pieces=reader.pieces,
            model=reader.model,
            finish_reason=reader.finish_reason or "stop",
            usage=reader.usage,
            parameters=fields,
            logprob=reader.logprob,
            enforced="response_format" in fields,
            seconds=seconds,
            first_token_seconds=None if reader.first_piece is None else reader.first_piece - began,
            interruption=reader.interruption,
        )
        logger.debug(
            "%d bytes were answered with %d characters and %d of thinking in %.3f s (%s)",
            len(body),
            len(reply.content),
            len(reply.thinking),
            seconds,
            reply.finish_reason,
        )
        return reply

    def distrust_schemas(self) -> None:
        """Sends no schema from now on: the server took one and did not hold its answer to it."""
        if "response_format" not in self._quirks.dropped:
            logger.warning(
                "%s takes schemas and does not hold answers to them; none is sent from now on, and"
                " answers are held to them here",
                self._server.failures.place,
            )
            self._quirks |= ServerQuirks(frozenset({"response_format"}))

    def _remember(self, quirks: ServerQuirks) -> None:
        """Keeps what was left out of a request that was then answered."""
        known = self._quirks
        if quirks == known:
            return
        # Other requests may have learnt something meanwhile.
        self._quirks = known | quirks
        for name in sorted(quirks.dropped - known.dropped):
            logger.warning("the model server does not take %s; it is left out from now on", name)

    async def _explain(self, refusal: Refusal, model: str) -> ModelFailure:
        """The error for a refusal, with what the server can tell about the right way."""
        failures = self._server.failures
        if refusal.about_model and refusal.overflow is None:
            # What the server told before may no longer be so.
            self._served = None
            names = await names_served(self._server)
            if names is not None and model not in names:
                return wrong_name(self._server, model, names)
        elif refusal.status in (404, 405):
            hint = await self._server.where_it_answers()
            return failures.missing(refusal.status, refusal.message, hint)
        return failures.refusal(refusal)


def pause(count: int, after: float | None) -> float:
    """Seconds before the next attempt: full jitter below an exponential bound.

    What a server asks for is kept to, with a little jitter so that not all clients return at once.
    """
    if after is not None:
        return min(after, LONGEST_PAUSE) + random.uniform(0, FIRST_PAUSE)
    return random.uniform(0, min(FIRST_PAUSE * 2**count, LONGEST_PAUSE))


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
    name = wanted or (next(iter(models)) if len(models) == 1 else "")
    if name not in models:
        raise wrong_name(server, wanted, list(models))
    return ServedModel(name, models[name], _owner(found, name))


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


def _owner(listing: object, name: str) -> str:
    entry = next(one for one in mapping(listing)["data"] if str(mapping(one).get("id")) == name)
    # OpenRouter lists what may be asked of each model, and no owner.
    return str(entry.get("owned_by") or ("openrouter" if "supported_parameters" in entry else ""))


def _context(model: Mapping[str, Any]) -> int | None:
    told = (model.get(name) for name in CONTEXT)
    return next((tokens for tokens in told if isinstance(tokens, int)), None)
