"""The web application: who asks, whether it may, what it is about; then the SDK's transport answers."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.types import INTERNAL_ERROR, INVALID_REQUEST
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.responses import Response

from agentworld_mcp_shim._keys import CALLER, Caller
from agentworld_mcp_shim._settings import HttpSettings
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


@dataclass(frozen=True, slots=True)
class _Refusal:
    """A request that goes no further."""

    reason: str
    """One word, for the metrics."""
    status: int
    text: str
    headers: Mapping[str, str] | None = None


class App:
    """Implements an ASGI application."""

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
    ) -> None:
        self._settings = settings
        self._views = views
        self._pool = pool
        self._guard = guard
        self._tokens = tokens
        self._metrics = metrics
        self._sessions = sessions
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
        headers = Headers(scope=scope)
        refused = self._guard.refusal(headers)
        if refused is not None:
            await self._refuse(_Refusal(*refused), scope, receive, send)
            return
        path: str = scope["path"]
        if path in ("/healthz", "/readyz"):
            response = Response("ok\n") if path == "/healthz" else await self._readiness()
            await response(scope, receive, send)
            return
        principal = self._tokens.principal(headers.get("authorization"))
        if principal is None and self._tokens.asked:
            await self._refuse(_unknown(headers), scope, receive, send)
        elif path == "/metrics":
            kind, body = self._metrics.text()
            await Response(body, media_type=kind)(scope, receive, send)
        else:
            place = _PATH.fullmatch(path)
            if place is None or (place["view"] or "") not in self._views:
                refusal = _Refusal(
                    "path", 404, f"nothing is served here. MCP is at {self._paths()}"
                )
                await self._refuse(refusal, scope, receive, send)
                return
            session = headers.get(_SESSION) if _is_legacy(headers) else None
            scope[CALLER] = Caller(principal=principal, world=place["world"], session=session)
            if principal is not None:
                scope["user"] = _user(principal)
            await self._limited(self._views[place["view"] or ""], headers, scope, receive, send)

    async def _limited(
        self,
        view: StreamableHTTPSessionManager,
        headers: Headers,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        if scope["method"] != "POST":
            if self._streams >= STREAMS_PER_REQUEST * self._settings.max_concurrent:
                await self._refuse(_BUSY, scope, receive, send)
                return
            self._streams += 1
            try:
                await self._in_session(view, headers, b"", scope, receive, send)
            finally:
                self._streams -= 1
            return
        if self._running >= self._settings.max_concurrent:
            await self._refuse(_BUSY, scope, receive, send)
            return
        self._running += 1
        self._metrics.running(1)
        self._idle.clear()
        try:
            body = await self._body(headers, receive)
            if isinstance(body, _Refusal):
                await self._refuse(body, scope, receive, send)
            elif body is not None:
                await self._in_session(view, headers, body, scope, receive, send)
        finally:
            self._running -= 1
            self._metrics.running(-1)
            if not self._running:
                self._idle.set()

    async def _body(self, headers: Headers, receive: Receive) -> bytes | _Refusal | None:
        """The body; `None` when the client leaves before it is there."""
        most = self._settings.max_request_bytes
        large = _Refusal("size", 413, f"a request may have {most} bytes")
        declared = headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most:
            return large
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        return None
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        return large
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            return _Refusal(
                "slow", 408, f"the request took longer than {BODY_SECONDS:g} s to arrive"
            )

    async def _in_session(
        self,
        view: StreamableHTTPSessionManager,
        headers: Headers,
        body: bytes,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        caller: Caller = scope[CALLER]
        begun = None
        if self._sessions is not None and _is_legacy(headers):
            known = caller.session
            if scope["method"] == "GET":
                # There is nothing to send: a process would have to know which of them has the client.
                refusal = _Refusal("stream", 405, "no stream here", {"Allow": "POST, DELETE"})
                await self._refuse(refusal, scope, receive, send)
                return
            if known is None and not _begins(body):
                await self._refuse(_NO_SESSION, scope, receive, send)
                return
            if known is None:
                begun = self._sessions.begin(caller.principal)
            elif not self._sessions.alive(known, caller.principal):
                await self._refuse(_OTHER_SESSION, scope, receive, send)
                return
            elif scope["method"] == "DELETE":
                self._sessions.end(known, caller.principal)
                self._metrics.session("ended")
                await Response(status_code=200)(scope, receive, send)
                return
        counted = _Counted(send, scope, caller, begun, self._metrics)
        await view.asgi_app(scope, _replayed(body, receive), counted)

    async def _readiness(self) -> Response:
        try:
            await self._pool.probe()
        except AgentworldError as error:
            logger.error("not ready: %s", error)
            return Response("the store cannot be used; the log says why\n", status_code=503)
        return Response("ok\n")

    async def _refuse(self, refusal: _Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        self._metrics.refused(refusal.reason)
        code = INTERNAL_ERROR if refusal.status >= 500 else INVALID_REQUEST
        error = {"code": code, "message": refusal.text}
        await Response(
            json.dumps({"jsonrpc": "2.0", "id": None, "error": error}),
            status_code=refusal.status,
            headers=dict(refusal.headers or {}),
            media_type="application/json",
        )(scope, receive, send)

    def _paths(self) -> str:
        return ", ".join(f"/{name}/mcp" if name else "/mcp" for name in self._views)


_BUSY = _Refusal("busy", 503, "too many requests at a time; try again", {"Retry-After": "1"})
_NO_SESSION = _Refusal("session", 400, "Bad Request: Missing session ID")
_OTHER_SESSION = _Refusal("session", 404, "Session not found")


class _Counted:
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


def _replayed(body: bytes, receive: Receive) -> Receive:
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
    return (
        isinstance(message, dict) and cast("dict[str, Any]", message).get("method") == "initialize"
    )


def _unknown(headers: Headers) -> _Refusal:
    given = "authorization" in headers
    challenge = 'Bearer realm="agentworld"' + (', error="invalid_token"' if given else "")
    text = "this token is not known" if given else "a bearer token is needed"
    return _Refusal("token", 401, text, {"WWW-Authenticate": challenge})


@lru_cache(maxsize=1024)
def _user(principal: str) -> AuthenticatedUser:
    # By this the SDK's transport binds a session to who began it. It is not shown the token.
    return AuthenticatedUser(AccessToken(token="", client_id=principal, scopes=[]))
