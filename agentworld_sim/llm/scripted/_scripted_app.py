"""The application behind the socket: the endpoints, how each kind of reply is sent, and what is remembered
of the requests."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import inspect
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, cast, get_args

from agentworld_sim.llm.scripted._generation import DONE, Generation, event
from agentworld_sim.llm.scripted._refusals import (
    VERSION,
    Refusal,
    Settings,
    invalid_body,
    over_the_limit,
    refusal_of,
)
from agentworld_sim.llm.scripted._script import (
    Authorization,
    Disconnect,
    ErrorReply,
    Hang,
    ModelRequest,
    OverflowReply,
    RawReply,
    Reply,
    Script,
    ScriptedReply,
    ScriptError,
    StreamError,
)
from agentworld_sim.llm.scripted.tokens import PrefixCache, count_tokens, render_prompt

CHAT = "/v1/chat/completions"
JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "cookie", "proxy-authorization")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class HttpRequest:
    """A complete request."""

    method: str
    path: str
    """Without the query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


@dataclass(frozen=True)
class HttpResponse:
    """The response to one request, as it is sent."""

    transport: asyncio.Transport
    _send: Send

    async def whole(
        self, status: int, body: bytes, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        await self.start(
            status, content_type, {**(headers or {}), "content-length": str(len(body))}
        )
        await self.send(body, more=False)

    async def start(
        self, status: int, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Sends status and headers; without a length the body is chunked."""
        fields = {"content-type": content_type, **(headers or {})}
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def send(self, data: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def disconnect(self, *, reset: bool) -> None:
        """Ends the connection in the middle of the response, once all that was sent has left; with `reset`
        the client receives a TCP reset."""
        while self.transport.get_write_buffer_size():  # noqa: ASYNC110  it tells nobody when it is empty
            await asyncio.sleep(0.001)
        connection = self.transport.get_extra_info("socket")
        if reset and connection is not None:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()
        await asyncio.Event().wait()


class ScriptedApp:
    """Answers requests; its counters are read from other threads under `changed`."""

    def __init__(self, script: Script, settings: Settings, *, keep_requests: int | None) -> None:
        self._settings = settings
        self.healthy = True
        """Whether `/health` says so; set it to `False` for a server that is still starting."""
        self.running = 0
        """Chat requests being answered now."""
        self.peak_running = 0
        """The most chat requests that were being answered at the same time."""
        self.abandoned = 0
        """Chat requests whose client left before the end of the answer."""
        self._cache = PrefixCache(block_size=settings.block_size)
        self._changed = threading.Condition()
        self._requests: deque[ModelRequest] = deque(maxlen=keep_requests)
        self._access_log: deque[str] = deque(maxlen=keep_requests)
        self._received = self._answered = self._generated_tokens = 0
        self._failures: list[ScriptError] = []
        self._script = script if callable(script) else _replies_of(script)
        self._scripted = 0

    @property
    def requests(self) -> list[ModelRequest]:
        """The chat requests so far, in the order in which they arrived."""
        with self._changed:
            return list(self._requests)

    @property
    def access_log(self) -> list[str]:
        """Every request so far as `METHOD /path`."""
        with self._changed:
            return list(self._access_log)

    @property
    def remaining(self) -> int | None:
        """Scripted replies that no request has had yet; `None` where a function answers."""
        if callable(self._script):
            return None
        return max(len(self._script) - self._scripted, 0)

    def wait_for(
        self, *, requests: int = 0, answered: int = 0, abandoned: int = 0, timeout_s: float = 30.0
    ) -> None:
        """Block until at least so many chat requests came, were answered or were abandoned.

        From async code: `await asyncio.to_thread(server.wait_for, requests=2)`.

        Raises:
            TimeoutError: they did not in time.
        """

        def is_reached() -> bool:
            return (
                self._received >= requests
                and self._answered >= answered
                and self.abandoned >= abandoned
            )

        with self._changed:
            if not self._changed.wait_for(is_reached, timeout_s):
                raise TimeoutError(
                    f"Waited {timeout_s:g} s for {requests} requests, {answered} answered and "
                    f"{abandoned} abandoned; there were {self._received}, {self._answered} "
                    f"and {self.abandoned}."
                )

    def check(self) -> None:
        """Raise what the script could not answer. The end of a `with` block does this.

        Raises:
            ScriptError: the first failure of the script.
        """
        if self._failures:
            raise self._failures[0]

    async def _serve(
        self, transport: asyncio.Transport, scope: Any, receive: Receive, send: Send
    ) -> None:
        """Answers a request, as an ASGI application that knows the connection, until the client leaves."""
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        request = HttpRequest(scope["method"], scope["path"], headers, bytes(body))
        work = asyncio.ensure_future(self._answer(HttpResponse(transport, send), request))
        watch = asyncio.ensure_future(_wait_for_disconnect(receive))
        await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
        work.cancel()
        watch.cancel()
        await asyncio.gather(work, watch, return_exceptions=True)
        if not work.cancelled():
            work.result()

    async def _answer(self, http: HttpResponse, request: HttpRequest) -> None:
        with self._changed:
            self._access_log.append(f"{request.method} {request.path}")
            self._changed.notify_all()
        if request.path == CHAT and request.method == "POST":
            return await self._chat(http, request)
        if request.path.startswith("/v1") and self._authorization(request) in ("wrong", "missing"):
            return await self._refuse(http, Refusal(401))
        page = self._page(request)
        if isinstance(page, Refusal):
            return await self._refuse(http, page)
        status, content_type, body = page
        await http.whole(status, b"" if request.method == "HEAD" else body, content_type)

    def _page(self, request: HttpRequest) -> tuple[int, str, bytes] | Refusal:
        """What a request to anything but chat completions gets: status, content type, body."""
        pages = {
            "/v1/models": lambda: (200, JSON, json.dumps(self._models()).encode()),
            "/health": lambda: (200 if self.healthy else 503, "text/plain", b""),
            "/version": lambda: (200, JSON, json.dumps({"version": VERSION}).encode()),
            "/metrics": lambda: (200, "text/plain; version=0.0.4; charset=utf-8", self._metrics()),
        }
        if request.path not in (*pages, CHAT):
            return Refusal(404, "Not Found", type="Not Found", by_framework=True)
        if request.method not in ("GET", "HEAD") or request.path == CHAT:
            return Refusal(405, "Method Not Allowed", type="Method Not Allowed", by_framework=True)
        return pages[request.path]()

    def _models(self) -> dict[str, Any]:
        settings = self._settings
        cards = [
            {
                "id": name,
                "object": "model",
                "created": 0,
                "owned_by": "sglang" if settings.dialect == "sglang" else "vllm",
                "root": name,
                "parent": None,
                "max_model_len": settings.max_model_len,
            }
            for name in settings.models
        ]
        return {"object": "list", "data": cards}

    def _metrics(self) -> bytes:
        """The counters of vLLM's Prometheus page that a prefix-cache check reads."""
        counters = {
            "vllm:prefix_cache_queries_total": self._cache.queries,
            "vllm:prefix_cache_hits_total": self._cache.hits,
            "vllm:prompt_tokens_total": self._cache.queries,
            "vllm:generation_tokens_total": self._generated_tokens,
        }
        labels = f'{{engine="0",model_name="{self._settings.models[0]}"}}'
        return "".join(
            f"# TYPE {name} counter\n{name}{labels} {float(value)}\n"
            for name, value in counters.items()
        ).encode()

    async def _chat(self, http: HttpResponse, received: HttpRequest) -> None:
        request, refusal = self._read(received)
        done = False
        try:
            if refusal is not None:
                await self._refuse(http, refusal)
            else:
                await self._reply(http, request)
            done = True
        finally:
            with self._changed:
                self.running -= 1
                self._answered += done
                self.abandoned += not done
                self._changed.notify_all()

    def _read(self, received: HttpRequest) -> tuple[ModelRequest, Refusal | None]:
        """The request as it is kept, and why it is refused."""
        authorization = self._authorization(received)
        body, refusal = _body(received)
        if authorization in ("wrong", "missing"):
            refusal = Refusal(401)
        headers = {
            name: value for name, value in received.headers.items() if name not in SECRET_HEADERS
        }
        request = ModelRequest(
            index=self._received,
            body=body,
            headers={**headers, "authorization": authorization},
            authorization=authorization,
        )
        prompt = render_prompt(request.messages)
        request = replace(request, prompt=prompt, prompt_tokens=count_tokens(prompt))
        refusal = refusal or refusal_of(request, self._settings)
        if refusal is None and self._settings.prefix_caching:
            cached = self._cache.look_up(prompt, salt=_salt(body))
            request = replace(request, cached_tokens=cached)
        with self._changed:
            self._received += 1
            self._requests.append(request)
            self.running += 1
            self.peak_running = max(self.peak_running, self.running)
            self._changed.notify_all()
        return request, refusal

    def _authorization(self, received: HttpRequest) -> Authorization:
        if self._settings.api_key is None:
            return "unchecked"
        scheme, _, key = received.headers.get("authorization", "").partition(" ")
        if not key:
            return "missing"
        right = hmac.compare_digest(key.strip().encode(), self._settings.api_key.encode())
        return "right" if right and scheme.lower() == "bearer" else "wrong"

    async def _reply(self, http: HttpResponse, request: ModelRequest) -> None:
        try:
            reply = await self._next_reply(request)
        except ScriptError as error:
            with self._changed:
                self._failures.append(error)
            return await self._refuse(http, Refusal(500, str(error)))
        match reply:
            case ScriptedReply():
                generation = await self._complete(http, reply, request)
                self._generated_tokens += generation.completion_tokens
                self._cache.add(request.prompt + generation.text, salt=_salt(request.body))
            case ErrorReply():
                after = reply.retry_after_s
                headers = {} if after is None else {"retry-after": f"{after:g}"}
                await self._refuse(http, _error(reply), headers)
            case OverflowReply():
                await self._refuse(http, self._overflow(request))
            case RawReply():
                body = reply.body.encode() if isinstance(reply.body, str) else reply.body
                await http.whole(reply.status, body, reply.content_type)
            case Hang():
                await self._begin(http, reply.reply, reply.after_chunks, request)
                await asyncio.Event().wait()
            case Disconnect():
                await self._begin(http, reply.reply, reply.after_chunks, request)
                await http.disconnect(reset=reply.reset)
            case StreamError():
                await self._fail_inside_the_stream(http, reply, request)

    async def _next_reply(self, request: ModelRequest) -> Reply:
        script = self._script
        if not callable(script):
            position, self._scripted = self._scripted, self._scripted + 1
            if position < len(script):
                return script[position]
            raise ScriptError(
                f"The script has {len(script)} {'reply' if len(script) == 1 else 'replies'}, and all "
                f"were given: there is none for request {request.index + 1}. Script one more, or give "
                "a function that answers every request."
            )
        try:
            answer = script(request)
            reply = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            message = f"The script raised {error!r} at request {request.index + 1}."
            raise ScriptError(message) from error
        return _reply_of(reply)

    async def _refuse(
        self, http: HttpResponse, refusal: Refusal, headers: Mapping[str, str] | None = None
    ) -> None:
        """Sends an error as this server writes it."""
        body = json.dumps(refusal.body(self._settings.dialect)).encode()
        await http.whole(refusal.status, body, JSON, headers)

    async def _complete(
        self, http: HttpResponse, reply: ScriptedReply, request: ModelRequest
    ) -> Generation:
        generation = Generation.of(reply, request, self._settings)
        await _before_the_first_byte(reply)
        if not request.stream:
            await asyncio.sleep(reply.seconds_per_chunk * len(list(generation.chunks())))
            body = json.dumps(generation.completion()).encode()
            await http.whole(200, body, JSON)
            return generation
        await http.start(200, EVENTS)
        for chunk in generation.chunks():
            await http.send(chunk)
            await asyncio.sleep(reply.seconds_per_chunk)
        bare = self._settings.reasoning_parser and self._settings.dialect != "vllm"
        await http.send(generation.chunk({} if bare else {"content": ""}, generation.finish_reason))
        if request.include_usage:
            await http.send(generation.usage_chunk())
        await http.send(DONE, more=False)
        return generation

    async def _begin(
        self, http: HttpResponse, reply: ScriptedReply, chunks: int | None, request: ModelRequest
    ) -> None:
        """Sends the beginning of an answer: nothing, or the headers and a part of the body."""
        await _before_the_first_byte(reply)
        if chunks is None:
            return
        generation = Generation.of(reply, request, self._settings)
        if request.stream:
            await http.start(200, EVENTS)
            for chunk in islice(generation.chunks(), chunks):
                await http.send(chunk)
                await asyncio.sleep(reply.seconds_per_chunk)
            return
        body = json.dumps(generation.completion()).encode()
        await http.start(200, JSON, {"content-length": str(len(body))})
        await http.send(body[: min(chunks * (reply.chunk_size or len(body)), len(body) - 1)])

    async def _fail_inside_the_stream(
        self, http: HttpResponse, reply: StreamError, request: ModelRequest
    ) -> None:
        refusal = Refusal(500, reply.message)
        if not request.stream:
            await _before_the_first_byte(reply.reply)
            return await self._refuse(http, refusal)
        await self._begin(http, reply.reply, reply.after_chunks, request)
        body = refusal.body(self._settings.dialect)
        # Inside a stream all of them put the error under `error`.
        await http.send(event(body if "error" in body else {"error": body}))
        await http.send(DONE, more=False)

    def _overflow(self, request: ModelRequest) -> Refusal:
        dialect, limit = self._settings.dialect, self._settings.max_model_len
        refusal = over_the_limit(
            dialect,
            prompt_tokens=max(request.prompt_tokens, limit + 1),
            max_tokens=None if dialect == "vllm" else request.max_tokens,
            limit=limit,
        )
        assert refusal is not None
        return refusal


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _before_the_first_byte(reply: ScriptedReply) -> None:
    if reply.gate is not None:
        await reply.gate.wait()
    await asyncio.sleep(reply.delay_s)


def _error(reply: ErrorReply) -> Refusal:
    if reply.status == 429:
        # No model server limits rates; gateways that do write it as OpenAI does.
        return Refusal(429, reply.message, type="requests", code="rate_limit_exceeded")
    return Refusal(reply.status, reply.message)


def _body(received: HttpRequest) -> tuple[dict[str, Any], Refusal | None]:
    if received.headers.get("content-type", "").partition(";")[0].strip() != JSON:
        return {}, invalid_body("Unsupported Media Type: Only 'application/json' is allowed")
    try:
        body: object = json.loads(received.body)
    except json.JSONDecodeError as error:
        return {}, invalid_body("JSON decode error", error)
    except ValueError as error:
        return {}, invalid_body(f"JSON decode error: {error}")
    if not isinstance(body, dict):
        return {}, invalid_body("Input should be a valid dictionary")
    return cast(dict[str, Any], body), None


def _salt(body: Mapping[str, Any]) -> str:
    return str(body.get("cache_salt") or "")


def _replies_of(script: object) -> Sequence[Reply]:
    if isinstance(script, (str, *get_args(Reply))) or not isinstance(script, Iterable):
        raise ScriptError(
            f"A script is a sequence of replies or a function, not {script!r}. One reply is "
            "scripted as [reply], the same reply to everything as lambda request: reply."
        )
    return tuple(_reply_of(reply) for reply in cast(Iterable[object], script))


def _reply_of(reply: object) -> Reply:
    if isinstance(reply, str):
        return ScriptedReply(reply)
    if isinstance(reply, get_args(Reply)):
        return cast(Reply, reply)
    known = ", ".join(kind.__name__ for kind in get_args(Reply))
    raise ScriptError(f"The script gave {reply!r}. It can give a string or one of: {known}.")
