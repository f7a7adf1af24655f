"""The web application: who asks, whether it may, what it is about; then the SDK's transport answers.

Not on Starlette's routes and middleware: every request is looked at in one order (host and origin, health,
token, path, limits, session), and the last step hands the bare connection on.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from agentworld_mcp_shim._http._operator_endpoint import PREFIX, OperatorEndpoint
from agentworld_mcp_shim._settings import HttpSettings
from agentworld_mcp_shim._world_keys import CALLER, Caller
from agentworld_sim.errors import AgentworldError

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.types import Message, Receive, Scope, Send

    from agentworld_mcp_shim._http._address import Guard
    from agentworld_mcp_shim._http._metrics import Metrics
    from agentworld_mcp_shim._http._sessions import SignedSessions
    from agentworld_mcp_shim._http._tokens import Tokens
    from agentworld_mcp_shim._pool import WorldPool

logger = logging.getLogger(__name__)

BODY_SECONDS = 30.0
"""Time for a request's body to arrive; who sends slower holds a place that others could use."""

STREAMS_PER_REQUEST = 4
"""Open event streams, which wait for hours and do nothing, per request that may be answered."""

_PATH = re.compile(r"(?:/worlds/(?P<world>[^/]+))?(?:/(?P<view>[^/]+))?/mcp/?")
_SESSION = "mcp-session-id"


class _Refusal(Exception):
    """A request goes no further."""

    def __init__(
        self, reason: str, status: int, text: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """
        Args:
            reason: One word, for the metrics.
            text: For people.
        """
        self.reason = reason
        code = INTERNAL_ERROR if status >= 500 else INVALID_REQUEST
        message = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}}
        self.response = Response(
            json.dumps(message), status, dict(headers or {}), media_type="application/json"
        )


class App:
    """An ASGI application."""

    def __init__(
        self,
        settings: HttpSettings,
        views: Mapping[str, StreamableHTTPSessionManager],
        pool: WorldPool,
        *,
        guard: Guard,
        tokens: Tokens,
        metrics: Metrics,
        sessions: SignedSessions | None = None,
        operator: OperatorEndpoint | None = None,
    ) -> None:
        """
        Args:
            views: The SDK's transports, by the name of the upstream; `""` is all of them.
            guard: Looks at `Host` and `Origin`.
            tokens: Says who asks.
            sessions: Sessions that several processes serve; `None` when the transports hold them.
            operator: Switches controls for those who may; `None` for nobody.
        """
        self._settings = settings
        self._views = views
        self._pool = pool
        self._guard = guard
        self._tokens = tokens
        self._metrics = metrics
        self._sessions = sessions
        self._operator = operator
        self._running = 0
        self._streams = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def settle(self, seconds: float) -> None:
        """Waits until no request is being answered, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            logger.info("%d requests are cancelled", self._running)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(scope, receive, send)
        except _Refusal as refused:
            self._metrics.count_refusal(refused.reason)
            response = refused.response
        except ClientDisconnect:
            return
        if response is not None:
            await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """The response; `None` when the SDK's transport gave it."""
        headers = Headers(scope=scope)
        refusal = self._guard.refusal(headers)
        if refusal is not None:
            raise _Refusal(*refusal)
        path: str = scope["path"]
        if path in ("/healthz", "/readyz"):
            return Response("ok\n") if path == "/healthz" else await self._readiness()
        if self._operator is not None and path.startswith(PREFIX):
            if not self._operator.knows(headers.get("authorization")):
                raise _token_refusal(headers)
            body = await self._body(headers, Request(scope, receive))
            return await self._operator.respond(scope["method"], path, body)
        principal = self._tokens.principal(headers.get("authorization"))
        if principal is None and self._tokens.asked:
            raise _token_refusal(headers)
        if path == "/metrics":
            kind, content = self._metrics.text()
            return Response(content, media_type=kind)
        place = _PATH.fullmatch(path)
        view = None if place is None else self._views.get(place["view"] or "")
        if place is None or view is None:
            paths = ", ".join(f"/{name}/mcp" if name else "/mcp" for name in self._views)
            raise _Refusal("path", 404, f"nothing is served here. MCP is at {paths}")
        if principal is not None:
            scope["user"] = _user(principal)
        legacy = _is_legacy(headers)
        caller = Caller(
            principal=principal,
            world=place["world"],
            session=headers.get(_SESSION) if legacy else None,
        )
        scope[CALLER] = caller
        with self._place(scope["method"]):
            body = b""
            if scope["method"] == "POST":
                body = await self._body(headers, Request(scope, receive))
            begun = None
            if self._sessions is not None and legacy:
                begun = self._shared_session(self._sessions, scope["method"], caller, body)
                if isinstance(begun, Response):
                    return begun
            counted = _SessionCounter(send, scope, caller, begun, self._metrics)
            await view.asgi_app(scope, _replay_body(body, receive), counted)
        return None

    @contextmanager
    def _place(self, method: str) -> Generator[None]:
        """One of the places for requests, or for event streams."""
        most = self._settings.max_concurrent
        if method != "POST":
            if self._streams >= STREAMS_PER_REQUEST * most:
                raise _busy()
            self._streams += 1
            try:
                yield
            finally:
                self._streams -= 1
            return
        if self._running >= most:
            raise _busy()
        self._running += 1
        self._metrics.running(1)
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            self._metrics.running(-1)
            if not self._running:
                self._idle.set()

    async def _body(self, headers: Headers, request: Request) -> bytes:
        most = self._settings.max_request_bytes
        large = _Refusal("size", 413, f"a request may have {most} bytes")
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            raise large
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in request.stream():
                    body += part
                    if len(body) > most:
                        raise large
        except TimeoutError:
            text = f"the request took longer than {BODY_SECONDS:g} s to arrive"
            raise _Refusal("slow", 408, text) from None
        return bytes(body)

    def _shared_session(
        self, sessions: SignedSessions, method: str, caller: Caller, body: bytes
    ) -> str | Response | None:
        """The id of a session that begins, or the response where one ends.

        Raises:
            _Refusal: the request belongs to no session.
        """
        known = caller.session
        if method == "GET":
            # There is nothing to send: a process would have to know which of them has the client.
            raise _Refusal("stream", 405, "no stream here", {"Allow": "POST, DELETE"})
        if known is None:
            if not _begins(body):
                raise _Refusal("session", 400, "Bad Request: Missing session ID")
            return sessions.begin(caller.principal)
        if not sessions.alive(known, caller.principal):
            raise _Refusal("session", 404, "Session not found")
        if method == "DELETE":
            sessions.end(known, caller.principal)
            self._metrics.session("ended")
            return Response(status_code=200)
        return None

    async def _readiness(self) -> Response:
        try:
            await self._pool.probe()
        except AgentworldError as error:
            logger.error("not ready: %s", error)
            return Response("the store cannot be used; the log says why\n", status_code=503)
        return Response("ok\n")


class _SessionCounter:
    """Sends, and says when a session begins or ends."""

    def __init__(
        self, send: Send, scope: Scope, caller: Caller, begun: str | None, metrics: Metrics
    ) -> None:
        self._send = send
        self._ends = scope["method"] == "DELETE"
        self._known = caller.session is not None
        self._begun = begun
        self._metrics = metrics

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            if self._begun is not None:
                named = (_SESSION.encode(), self._begun.encode())
                message = {**message, "headers": [*message.get("headers", ()), named]}
            if self._ends:
                self._metrics.session("ended")
            elif not self._known and any(
                name == _SESSION.encode() for name, _ in message.get("headers", ())
            ):
                self._metrics.session("began")
        await self._send(message)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Gives the body once more, and then what comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _is_legacy(headers: Headers) -> bool:
    version = headers.get("mcp-protocol-version")
    return version is None or version in HANDSHAKE_PROTOCOL_VERSIONS


def _begins(body: bytes) -> bool:
    """Whether a request begins a session."""
    if b"initialize" not in body:
        return False
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    named = cast("dict[str, Any]", message) if isinstance(message, dict) else {}
    return named.get("method") == "initialize"


def _busy() -> _Refusal:
    return _Refusal("busy", 503, "too many requests at a time; try again", {"Retry-After": "1"})


def _token_refusal(headers: Headers) -> _Refusal:
    given = "authorization" in headers
    challenge = 'Bearer realm="agentworld"' + (', error="invalid_token"' if given else "")
    text = "this token is not known" if given else "a bearer token is needed"
    return _Refusal("token", 401, text, {"WWW-Authenticate": challenge})


@lru_cache(maxsize=1024)
def _user(principal: str) -> AuthenticatedUser:
    # By this the SDK's transport binds a session to who began it. It is not shown the token.
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))
