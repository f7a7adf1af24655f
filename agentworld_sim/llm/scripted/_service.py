"""The endpoints, and what the server remembers of the requests."""

from __future__ import annotations

import hmac
import inspect
import json
import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast, get_args

import h11

from agentworld_sim.llm.scripted import _pages
from agentworld_sim.llm.scripted._delivery import JSON, deliver, refuse
from agentworld_sim.llm.scripted._dialects import Refusal
from agentworld_sim.llm.scripted._http import HttpConnection, HttpRequest
from agentworld_sim.llm.scripted._refusals import invalid_body, no_json, refusal_of
from agentworld_sim.llm.scripted._replies import Reply, Script, ScriptedReply, ScriptError
from agentworld_sim.llm.scripted._requests import Authorization, ModelRequest
from agentworld_sim.llm.scripted._settings import Settings
from agentworld_sim.llm.scripted.tokens import PrefixCache, count_tokens, render_prompt

CHAT = "/v1/chat/completions"
SECRET_HEADERS = ("authorization", "api-key", "x-api-key", "cookie", "proxy-authorization")


class Service:
    """Answers requests; its counters are read from other threads under `changed`."""

    def __init__(self, script: Script, settings: Settings, *, keep_requests: int | None) -> None:
        self.settings = settings
        self.healthy = True
        self.cache = PrefixCache(block_size=settings.block_size)
        self.changed = threading.Condition()
        self.requests: deque[ModelRequest] = deque(maxlen=keep_requests)
        self.access_log: deque[str] = deque(maxlen=keep_requests)
        self.received = self.answered = self.abandoned = 0
        self.running = self.peak_running = 0
        self.generated_tokens = 0
        self.failures: list[ScriptError] = []
        self._script = script if callable(script) else _replies_of(script)
        self._scripted = 0

    @property
    def remaining(self) -> int | None:
        """Replies of a sequence that no request has had yet."""
        if callable(self._script):
            return None
        return max(len(self._script) - self._scripted, 0)

    async def serve(self, http: HttpConnection) -> None:
        """Answer the requests of one connection, until either side ends it."""
        try:
            while (request := await http.receive()) is not None:
                await http.while_connected(self._answer(http, request))
                if not http.reusable:
                    break
        except h11.RemoteProtocolError:
            # For example TLS spoken to a plain port.
            await http.respond(400, b"Invalid HTTP request received.", content_type="text/plain")

    async def _answer(self, http: HttpConnection, request: HttpRequest) -> None:
        self._log(request)
        if request.path == CHAT and request.method == "POST":
            return await self._chat(http, request)
        if request.path.startswith("/v1") and self._authorization(request) in ("wrong", "missing"):
            return await refuse(http, Refusal(401), self.settings)
        page = _pages.page(request.method, request.path, self)
        if isinstance(page, Refusal):
            return await refuse(http, page, self.settings)
        status, content_type, body = page
        await http.respond(status, body, content_type=content_type)

    async def _chat(self, http: HttpConnection, received: HttpRequest) -> None:
        request, refusal = self._read(received)
        done = False
        try:
            if refusal is not None:
                await refuse(http, refusal, self.settings)
            else:
                await self._reply(http, request)
            done = True
        finally:
            with self.changed:
                self.running -= 1
                self.answered += done
                self.abandoned += not done
                self.changed.notify_all()

    async def _reply(self, http: HttpConnection, request: ModelRequest) -> None:
        try:
            reply = await self._scripted_reply(request)
        except ScriptError as error:
            with self.changed:
                self.failures.append(error)
            return await refuse(http, Refusal(500, str(error)), self.settings)
        generation = await deliver(http, reply, request, self.settings)
        if generation is not None:
            self.generated_tokens += generation.completion_tokens
            self.cache.add(request.prompt + generation.text, salt=_salt(request.body))

    async def _scripted_reply(self, request: ModelRequest) -> Reply:
        if not callable(self._script):
            return self._next(self._script, request)
        try:
            answer = self._script(request)
            reply = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            message = f"The script raised {error!r} at request {request.index + 1}."
            raise ScriptError(message) from error
        return _reply_of(reply)

    def _next(self, script: Sequence[Reply], request: ModelRequest) -> Reply:
        position, self._scripted = self._scripted, self._scripted + 1
        if position < len(script):
            return script[position]
        raise ScriptError(
            f"The script has {len(script)} {'reply' if len(script) == 1 else 'replies'}, and all "
            f"were given: there is none for request {request.index + 1}. Script one more, or give "
            "a function that answers every request."
        )

    def _read(self, received: HttpRequest) -> tuple[ModelRequest, Refusal | None]:
        """The request as it is kept, and why it is refused."""
        authorization = self._authorization(received)
        body, refusal = _body(received)
        if authorization in ("wrong", "missing"):
            refusal = Refusal(401)
        request = ModelRequest(
            index=self.received,
            body=body,
            headers=_shown(received.headers, authorization),
            authorization=authorization,
        )
        prompt = render_prompt(request.messages)
        request = replace(request, prompt=prompt, prompt_tokens=count_tokens(prompt))
        refusal = refusal or refusal_of(request, self.settings)
        if refusal is None and self.settings.prefix_caching:
            cached = self.cache.look_up(prompt, salt=_salt(body))
            request = replace(request, cached_tokens=cached)
        with self.changed:
            self.received += 1
            self.requests.append(request)
            self.running += 1
            self.peak_running = max(self.peak_running, self.running)
            self.changed.notify_all()
        return request, refusal

    def _authorization(self, received: HttpRequest) -> Authorization:
        if self.settings.api_key is None:
            return "unchecked"
        scheme, _, key = received.headers.get("authorization", "").partition(" ")
        if not key:
            return "missing"
        right = hmac.compare_digest(key.strip().encode(), self.settings.api_key.encode())
        return "right" if right and scheme.lower() == "bearer" else "wrong"

    def _log(self, received: HttpRequest) -> None:
        with self.changed:
            self.access_log.append(f"{received.method} {received.path}")
            self.changed.notify_all()


def _body(received: HttpRequest) -> tuple[dict[str, Any], Refusal | None]:
    if received.headers.get("content-type", "").partition(";")[0].strip() != JSON:
        return {}, invalid_body("Unsupported Media Type: Only 'application/json' is allowed")
    try:
        body: object = json.loads(received.body)
    except json.JSONDecodeError as error:
        return {}, no_json(error)
    except ValueError as error:
        return {}, invalid_body(f"JSON decode error: {error}")
    if not isinstance(body, dict):
        return {}, invalid_body("Input should be a valid dictionary")
    return cast(dict[str, Any], body), None


def _shown(headers: Mapping[str, str], authorization: Authorization) -> dict[str, str]:
    """The headers without anything that could be a secret."""
    shown = {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
    return {**shown, "authorization": authorization}


def _salt(body: Mapping[str, Any]) -> str:
    return str(body.get("cache_salt") or "")


def _replies_of(script: object) -> tuple[Reply, ...]:
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
