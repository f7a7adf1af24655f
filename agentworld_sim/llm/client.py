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
from agentworld_sim.llm._dialect import Dialect
from agentworld_sim.llm._flights import Ended
from agentworld_sim.llm._posting import Posting
from agentworld_sim.llm._replies_cache import RepliesCache
from agentworld_sim.llm._retry import Sleep, retried
from agentworld_sim.llm._sent import SentRequest
from agentworld_sim.llm._stream import ReplyReader
from agentworld_sim.llm.chat import ChatReply, ChatRequest, Listener, ServedModel, Watch
from agentworld_sim.llm.refusals import Refusal
from agentworld_sim.llm.served import names_served, served_model, wrong_name
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
        self._posting = Posting(settings)
        self._transport = self._posting.transport
        self._cache = RepliesCache(settings.cache_entries)
        self._dialect = Dialect()
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
        sent = SentRequest.of(request, self.settings, model)
        if (known := self._cache.get(sent.key)) is not None:
            logger.debug("a reply of %d characters comes from the cache", len(known.content))
            return replace(known, source="cache", seconds=0.0, first_token_seconds=None)
        connections = await self._transport.of_this_loop()
        reply, joined = await self._shared(
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
            answer = await retried(
                lambda: self._posting.post("/completions", body),
                retries=self.settings.retries,
                sleep=self._sleep,
            )
        if isinstance(answer, Refusal):
            raise self._posting.failures.refused(answer)
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
        raise ModelFailure(f"{self._posting.failures.place} {what}")

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of requests that the server turned out not to take."""
        return self._dialect.dropped

    async def forget(self, request: ChatRequest) -> None:
        """Does not answer an equal request from memory: its reply could not be used."""
        model = self.settings.model or (await self.served()).name
        self._cache.drop(SentRequest.of(request, self.settings, model).key)

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
        found, _ = await self._shared(connections, "served", self._look_up)
        self._served = found
        self._posting.failures.model = found.name
        return found

    async def close(self) -> None:
        """Closes the connections of the running event loop. The client can be used again."""
        await self._transport.close()

    async def _shared(
        self, connections: Connections, key: bytes | str, work: Callable[[], Coroutine[Any, Any, T]]
    ) -> tuple[T, bool]:
        try:
            return await connections.flights.share(key, work)
        except Ended:
            failure = self._posting.failures.closed()
        raise failure

    async def _look_up(self) -> ServedModel:
        return await retried(
            lambda: served_model(self._posting, self.settings.model),
            retries=self.settings.retries,
            sleep=self._sleep,
        )

    async def _fetch(
        self,
        connections: Connections,
        sent: SentRequest,
        watch: Watch | None,
        listener: Listener | None,
    ) -> ChatReply:
        began = time.perf_counter()
        # Held through the pauses as well: a server that is overloaded gets no more than before.
        async with connections.slots:
            reply = await retried(
                lambda: self._attempt(sent, ReplyReader(watch, listener), began),
                retries=self.settings.retries,
                sleep=self._sleep,
            )
        self._cache.put(sent.key, reply)
        return reply

    async def _attempt(self, sent: SentRequest, reader: ReplyReader, began: float) -> ChatReply:
        dialect = self._dialect
        while True:
            fields = dialect.spoken(sent.fields)
            body = sent.body(fields)
            reader = ReplyReader(reader.watch, reader.listener)
            if reader.listener is not None:
                reader.listener.begin()
            refusal = await self._posting.chat(body, reader, session=sent.session)
            if refusal is None:
                break
            taught = dialect.taught(refusal, fields)
            if taught is None:
                raise await self._refused(refusal, fields["model"])
            dialect = taught
        self._remember(dialect)
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

    def _remember(self, dialect: Dialect) -> None:
        """Keeps what was left out of a request that was then answered."""
        known = self._dialect
        if dialect == known:
            return
        # Other requests may have learnt something meanwhile.
        self._dialect = known | dialect
        for name in sorted(dialect.dropped - known.dropped):
            logger.warning("the model server does not take %s; it is left out from now on", name)

    async def _refused(self, refusal: Refusal, model: str) -> ModelFailure:
        """The error for a refusal, with what the server can tell about the right way."""
        failures = self._posting.failures
        if refusal.about_model and refusal.overflow is None:
            # What the server told before may no longer be so.
            self._served = None
            names = await names_served(self._posting)
            if names is not None and model not in names:
                return wrong_name(self._posting, model, names)
        elif refusal.status in (404, 405):
            hint = await self._posting.where_it_answers()
            return failures.missing(refusal.status, refusal.message, hint)
        return failures.refused(refusal)
