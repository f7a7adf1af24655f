"""One connection with an upstream, for requests that are real: what passes it is not looked into.

The SDK's client session would validate results, drop the fields that it does not know and answer the
upstream's questions itself. So the connection is made of the SDK's transport and its JSON-RPC layer
only: requests and results are the objects that came over the wire, notifications keep their order, and
what the upstream asks is asked of the front's client.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import anyio
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

from agentworld_mcp_shim._client_request import CURRENT_REQUEST, ClientRequest
from agentworld_mcp_shim._handshake import (
    AgreedVersion,
    ClientIdentity,
    agree,
    ignore_notification,
)
from agentworld_mcp_shim._tool_calls import AnswerTooLate
from agentworld_mcp_shim._upstream import first_cause
from agentworld_sim.errors import WorldFailure
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.connection import Connection

    from agentworld_mcp_shim._upstream import Upstream

logger = logging.getLogger(__name__)

LISTEN = "subscriptions/listen"
"""A request whose answer is the end of all that it asked for."""

MAX_ROUNDS = 10
"""Times that one request may ask for input before it is given up."""

FIRST_NUMBER = 16
"""Request ids below are those of the identity."""

END_SECONDS = 1.0
"""How long after a broken request the connection may take to be known as ended."""

STANDING = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/updated",
    }
)
"""Notifications that belong to no request."""

STREAM_END = ""
"""Stands among notifications for the end of a stream over HTTP before its answer."""


class UpstreamGone(WorldFailure):
    """The upstream did not come up, or ended before it answered."""


class UpstreamConnection:
    """One connection. It is opened once, and is over when its client leaves or the upstream ends."""

    def __init__(
        self, upstream: Upstream, *, seconds: float, answer_seconds: float, name: str = ""
    ) -> None:
        # For clients: its command and its URL may hold secrets.
        self._label = f"upstream {name!r}" if name else "upstream"
        self._upstream = upstream
        self._seconds = seconds
        self._answer_seconds = answer_seconds
        self._dispatcher: JSONRPCDispatcher[Any] | None = None
        self._reading: Any = None
        self._agreed: AgreedVersion | None = None
        self._home: Connection | None = None
        self._number = FIRST_NUMBER
        self._calls: dict[int, ClientRequest] = {}
        self._progress: dict[int | str, ClientRequest] = {}
        self._notes: asyncio.Queue[
            tuple[ClientRequest | None, str, dict[str, Any]] | asyncio.Event
        ] = asyncio.Queue()
        self._running: asyncio.Task[None] | None = None
        self._stale = False

    @property
    def over(self) -> bool:
        """Whether nothing can be sent over it any more."""
        return self._stale or self._running is None or self._running.done()

    async def open(self, identity: ClientIdentity, home: Connection | None) -> None:
        """Connects and agrees on a protocol version. Raises `UpstreamGone` when it does not come up."""
        self._home = home
        ready = asyncio.Event()
        # A context of its own: nothing of the request that happens to be the first belongs in it.
        running = asyncio.create_task(self._run(ready), context=contextvars.Context())
        self._running = running
        try:
            async with asyncio.timeout(self._seconds):
                await _first(ready, running)
                if self._dispatcher is None or running.done():
                    raise self._end_error("did not come up", _failure(running))
                self._agreed = await agree(self._dispatcher, identity)
        except MCPError as error:
            await self._wait_for_end()
            cause = _failure(running) or error
            await self.aclose()
            raise self._end_error("did not come up", cause) from error
        except TimeoutError as error:
            await self.aclose()
            raise UpstreamGone(
                f"the {self._label} did not come up within {self._seconds:g} s."
                " --upstream-timeout gives it longer."
            ) from error
        except BaseException:
            await self.aclose()
            raise

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        call: ClientRequest,
        identity: ClientIdentity,
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The result as it came over the wire.

        Raises:
            MCPError: the upstream's own error.
            WorldFailure: it gave no answer.
        """
        for _ in range(MAX_ROUNDS):
            result = await self._exchange(method, params, call, identity, schema)
            if call.modern or result.get("resultType") != "input_required":
                return result
            # A client of the older era is asked, where one of the newest would be told to ask itself.
            params = {**params, "inputResponses": await _inputs(call, result)}
            params.pop("requestState", None)
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        raise UpstreamGone(
            f"the {self._label} asked for input {MAX_ROUNDS} times for one"
            f" {method} and gave no answer."
        )

    async def aclose(self) -> None:
        """Ends the connection, and the upstream if it is a process of ours."""
        running = self._running
        if running is not None and not running.done():
            running.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([running])
        self._upstream.close()

    def wait_closed(self) -> None:
        """Waits, after `aclose`, until a process of ours has ended."""
        self._upstream.wait_closed()

    async def _exchange(
        self,
        method: str,
        params: Mapping[str, Any],
        call: ClientRequest,
        identity: ClientIdentity,
        schema: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        assert self._dispatcher is not None and self._agreed is not None, "not opened"
        self._number += 1
        number = self._number
        given = params.get("_meta")
        meta = self._agreed.meta(
            cast("dict[str, Any]", given) if isinstance(given, dict) else {}, identity
        )
        token = call.progress_token
        if token is not None:
            # The client's own where nobody else's can be the same.
            if self._home is None or token in self._progress:
                token = f"{number}-{token}"
            meta["progressToken"] = token
            self._progress[token] = call
        sent = {key: value for key, value in params.items() if key != "_meta"}
        if meta:
            sent["_meta"] = meta
        self._calls[number] = call
        call.on_stream_end = partial(self._notes.put_nowait, (call, STREAM_END, {}))
        outer = CURRENT_REQUEST.set(call)
        try:
            seconds = None if method == LISTEN else self._answer_seconds
            async with asyncio.timeout(seconds) as clock:
                call.limit(clock, seconds)
                result = await self._dispatcher.send_raw_request(
                    method,
                    sent,
                    {
                        "request_id": number,
                        "headers": self._agreed.headers(method, sent, schema),
                    },
                )
                return result if method != LISTEN else self._subscription(result)[1]
        except TimeoutError as error:
            raise AnswerTooLate(
                f"the {self._label} was silent for {self._answer_seconds:g} s over"
                f" {method}; it was told to stop. --answer-within gives it longer, if the client"
                " waits for it."
            ) from error
        except MCPError as error:
            await self._examine(error)
            raise
        finally:
            CURRENT_REQUEST.reset(outer)
            try:
                # What it said before its answer goes to the client before the answer does.
                await self._flush_notes()
            finally:
                self._calls.pop(number, None)
                if token is not None:
                    self._progress.pop(token, None)

    async def _examine(self, error: MCPError) -> None:
        """Raises `UpstreamGone` when an error is none of the upstream's but that of its end."""
        if error.code == INVALID_REQUEST and error.message == "Session terminated":
            self._stale = True
            raise self._end_error("has ended the session", None) from error
        if error.code == CONNECTION_CLOSED:
            await self._wait_for_end()
            if self.over:
                cause = None if self._running is None else _failure(self._running)
                raise self._end_error("ended before it answered", cause) from error

    async def _run(self, ready: asyncio.Event) -> None:
        async with self._upstream.transport() as (reading, writing):
            self._reading = reading
            dispatcher: JSONRPCDispatcher[Any] = JSONRPCDispatcher(reading, writing)

            async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
                try:
                    await dispatcher.run(
                        self._ask_client,
                        ignore_notification,
                        self._queue_note,
                        task_status=task_status,
                    )
                finally:
                    group.cancel_scope.cancel()

            async with anyio.create_task_group() as group:
                await group.start(run)
                self._dispatcher = dispatcher
                ready.set()
                await self._deliver_notes()

    async def _ask_client(
        self, context: Any, method: str, params: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Answers what the upstream asks: with the words of the client."""
        if method == "ping":
            return {}
        call = CURRENT_REQUEST.get() or self._latest()
        if call is not None:
            return await call.ask(method, params)
        if self._home is not None:
            return await self._home.outbound.send_raw_request(method, params)
        raise MCPError(INVALID_REQUEST, f"there is no client that could answer {method}")

    def _queue_note(self, method: str, params: Mapping[str, Any] | None) -> bool:
        """Takes notifications in the order in which they arrive."""
        if method != "notifications/cancelled":
            context: contextvars.Context | None = getattr(self._reading, "last_context", None)
            call = None if context is None else context.get(CURRENT_REQUEST)
            self._notes.put_nowait((call, method, dict(params or {})))
        return True

    async def _deliver_notes(self) -> None:
        while True:
            note = await self._notes.get()
            if isinstance(note, asyncio.Event):
                note.set()
                continue
            call, method, params = note
            try:
                if method != STREAM_END:
                    await self._notify_client(call, method, params)
                elif call is not None:
                    await call.end_stream()
            except Exception:
                # One client that cannot be told must not cost the others their answers.
                logger.exception("could not pass on %s", method)

    async def _notify_client(
        self, call: ClientRequest | None, method: str, params: dict[str, Any]
    ) -> None:
        listening, params = self._subscription(params)
        if listening is not None:
            await listening.notify(method, params)
            return
        if method == "notifications/progress":
            token: object = params.get("progressToken")
            call = self._progress.get(token) if isinstance(token, int | str) else None
            if call is not None:
                call.renew_time()
                await call.notify(method, {**params, "progressToken": call.progress_token})
            return
        if method not in STANDING:
            call = call or self._latest()
            if call is not None:
                if call.wants(method, params):
                    await call.notify(method, params or None)
                return
        if self._home is not None:
            await self._home.notify(method, params or None)

    def _subscription(
        self, content: Mapping[str, Any]
    ) -> tuple[ClientRequest | None, dict[str, Any]]:
        """Whose subscription a message belongs to, and the message with the client's own id of it."""
        meta: object = content.get("_meta")
        if isinstance(meta, dict):
            known = cast("dict[str, Any]", meta)
            number: object = known.get(SUBSCRIPTION_ID_META_KEY)
            call = self._calls.get(number) if isinstance(number, int) else None
            if call is not None:
                named = {**known, SUBSCRIPTION_ID_META_KEY: call.id}
                return call, {**content, "_meta": named}
        return None, dict(content)

    def _latest(self) -> ClientRequest | None:
        """Over a pipe nothing says which request a message belongs to: any of the same client will do."""
        return next(reversed(self._calls.values()), None)

    async def _flush_notes(self) -> None:
        if not self.over:
            passed = asyncio.Event()
            self._notes.put_nowait(passed)
            assert self._running is not None
            await _first(passed, self._running)

    async def _wait_for_end(self) -> None:
        if self._running is not None:
            await asyncio.wait([self._running], timeout=END_SECONDS)

    def _end_error(self, what: str, cause: BaseException | None) -> UpstreamGone:
        words = f"the {self._label} {what}"
        if cause is not None:
            # Its text is for the log: that of an HTTP client has the URL in it.
            logger.error("the upstream %s %s: %s", self._upstream.shown, what, cause)
            words += f" ({type(cause).__name__})"
        return UpstreamGone(f"{words}. The next call starts it anew.")


async def _inputs(call: ClientRequest, result: Mapping[str, Any]) -> dict[str, Any]:
    """The client's answers to what a result of the newest era asks."""
    wanted = cast("Mapping[str, Mapping[str, Any]]", result.get("inputRequests") or {})
    return {
        key: await call.ask(request["method"], request.get("params"))
        for key, request in wanted.items()
    }


async def _first(event: asyncio.Event, running: asyncio.Task[None]) -> None:
    """Waits until the event is set or the task is done."""
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting, running}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _failure(running: asyncio.Task[None]) -> BaseException | None:
    if not running.done() or running.cancelled():
        return None
    error = running.exception()
    return error and first_cause(error)
