"""The client of a chat-completions server."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NoReturn, TypeVar, cast

from agentworld_sim.errors import ModelFailure
from agentworld_sim.llm._chat_transport import (
    ChatTransport,
    Sleep,
    find_model,
    names_served,
    retry,
    wrong_name,
)
from agentworld_sim.llm._server_quirks import ServerQuirks
from agentworld_sim.llm._sharing import FlightCancelled, RepliesCache
from agentworld_sim.llm._stream import ReplyReader
from agentworld_sim.llm.chat import (
    ChatReply,
    ChatRequest,
    Listener,
    PreparedRequest,
    ServedModel,
    Watch,
)
from agentworld_sim.llm.failures import Refusal
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.llm.transport import Connections

T = TypeVar("T")

logger = logging.getLogger(__name__)


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
        self._transport = self._server.transport
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
        model = self.settings.model or (await self.served()).name
        sent = PreparedRequest.of(request, self.settings, model)
        if (known := self._cache.get(sent.key)) is not None:
            logger.debug("a reply of %d characters comes from the cache", len(known.content))
            return replace(known, source="cache", seconds=0.0, first_token_seconds=None)
        connections = await self._transport.of_this_loop()
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
        model = self.settings.model or (await self.served()).name
        body = json.dumps({"model": model, **fields}).encode()
        connections = await self._transport.of_this_loop()
        async with connections.slots:
            answer = await retry(
                lambda: self._server.post("/completions", body),
                retries=self.settings.retries,
                sleep=self._sleep,
            )
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
        model = self.settings.model or (await self.served()).name
        self._cache.drop(PreparedRequest.of(request, self.settings, model).key)

    async def served(self) -> ServedModel:
        """The model that is asked, as the server describes it. Asked of the server once.

        A server without a list of models is taken at the word of the settings.

        Raises:
            ModelUnavailable: as `ask`.
            ModelRefused: the name is not served (the message lists what is), or the key is refused.
        """
        if self._served is not None:
            return self._served
        connections = await self._transport.of_this_loop()
        found, _ = await self._ask_once(connections, "served", self._look_up)
        self._served = found
        self._server.failures.model = found.name
        return found

    async def close(self) -> None:
        """Closes the connections of the running event loop. The client can be used again."""
        await self._transport.close()

    async def _ask_once(
        self, connections: Connections, key: bytes | str, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        try:
            return await connections.single_flight.do(key, work)
        except FlightCancelled:
            failure = self._server.failures.closed_client()
        raise failure

    async def _look_up(self) -> ServedModel:
        return await retry(
            lambda: find_model(self._server, self.settings.model),
            retries=self.settings.retries,
            sleep=self._sleep,
        )

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
            reply = await retry(
                lambda: self._attempt(sent, ReplyReader(watch, listener), began),
                retries=self.settings.retries,
                sleep=self._sleep,
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
            finish_reason=reader.finish_reason or "stop",
            usage=reader.usage,
            parameters=fields,
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
