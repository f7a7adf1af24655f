"""`model_proxy`: a server in front of a model's server. What no fault strikes goes through byte for byte, piece by piece,
in both directions."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from agentworld_sim.errors import UsageError
from agentworld_sim.proxy.model_faults import NO_JSON, REFUSAL, FaultSchedule, ModelFault

CONNECT_SECONDS = 10.0
"""Time for a connection to the server. An answer may take as long as its caller waits."""

CUT_AFTER = 3
"""Events of a stream that come before it is cut. Of a reply in one piece, half comes."""

_OF_THE_CONNECTION = (
    "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer"
    " transfer-encoding upgrade"
).split()
"""Headers that are about one connection (RFC 9110, 7.6.1) and never go on."""


@asynccontextmanager
async def model_proxy(
    upstream: str, schedule: FaultSchedule | None = None, *, port: int = 0
) -> AsyncGenerator[str]:
    """Stands between an agent and its model on this host, while the context lasts; gives the base URL for the
    agent. Requests go to the same path of the server, and those that the schedule says are struck.

    Args:
        upstream: Base URL of the server's API, such as `http://127.0.0.1:8000/v1`.
        schedule: Which chat completions are struck; none by default.
        port: 0 takes a free one.

    Raises:
        UsageError: `upstream` is no base URL, or holds a password; or the port is taken.
    """
    try:
        base = URL(upstream)
    except ValueError:
        base = URL()
    if base.scheme not in ("http", "https") or not base.host or base.raw_user or base.raw_password:
        raise UsageError(
            "--upstream is the base URL of a model's server, without a password: for example"
            " http://127.0.0.1:8000/v1. Callers bring their own key."
        )
    async with aiohttp.ClientSession(
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
    ) as session:
        quiet = logging.getLogger(__name__)
        quiet.setLevel(logging.CRITICAL)
        app = web.Application(client_max_size=0)
        app.router.add_route("*", "/{path:.*}", _Forwarder(base.origin(), session, schedule).answer)
        runner = web.AppRunner(
            app,
            # Nobody generates for a caller who has left.
            handler_cancellation=True,
            auto_decompress=False,
            access_log=None,
            # A header that cannot be read would be logged, with the key in it.
            logger=quiet,
            shutdown_timeout=0,
        )
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, "127.0.0.1", port).start()
            except OSError as error:
                raise UsageError(
                    f"--port {port} cannot be listened on: {error.strerror}. 0 takes a free one."
                ) from None
            yield f"http://127.0.0.1:{runner.addresses[0][1]}{base.raw_path.rstrip('/')}"
        finally:
            await runner.cleanup()


class _Forwarder:
    def __init__(
        self, origin: URL, session: aiohttp.ClientSession, schedule: FaultSchedule | None
    ) -> None:
        self._origin = origin
        self._session = session
        self._schedule = schedule

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        asked = _json_object(body) if request.path.endswith("/chat/completions") else {}
        fault = None
        if self._schedule is not None and asked:
            model, tools = str(asked.get("model", "")), bool(asked.get("tools"))
            fault = self._schedule.choose(model, asked.get("messages"), tools=tools)
        if fault is not None and fault.kind == "slow-first-token":
            await asyncio.sleep(fault.seconds)
        elif fault is not None and fault.kind != "cut-stream":
            return _struck(fault, asked)
        cut = fault is not None and fault.kind == "cut-stream"
        reply: web.StreamResponse | None = None
        try:
            async with self._session.request(
                request.method,
                URL(f"{self._origin}{request.raw_path}", encoded=True),
                headers=_end_to_end(request.headers, "host", "content-length"),
                data=body or None,
                allow_redirects=False,
            ) as response:
                reply = web.StreamResponse(
                    status=response.status,
                    reason=response.reason,
                    headers=_end_to_end(response.headers),
                )
                await reply.prepare(request)
                async for piece in _beginning(response) if cut else response.content.iter_any():
                    await reply.write(piece)
        except aiohttp.ClientError as error:
            if reply is None:
                told = f"the model's server at {self._origin} gave no reply: {type(error).__name__}"
                return _json_reply(502, {"message": told, "type": "proxy", "code": 502})
            # The caller sees what the server did: a reply without an end.
            cut = True
        if cut and request.transport is not None:
            request.transport.close()
        return reply


async def _beginning(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """What comes of a reply that is cut."""
    if response.content_type != "text/event-stream":
        whole = await response.content.read()
        yield whole[: len(whole) // 2]
        return
    held, left = b"", CUT_AFTER
    async for piece in response.content.iter_any():
        # An event ends with an empty line, wherever the network divided the stream.
        *events, held = (held + piece).split(b"\n\n")
        for event in events[:left]:
            yield event + b"\n\n"
        left -= len(events)
        if left <= 0:
            return


def _struck(fault: ModelFault, asked: Mapping[str, Any]) -> web.Response:
    """What a fault answers in the model's place, in OpenAI's form: of a stream where one was asked for."""
    if fault.kind == "rate-limit":
        wait = f"{fault.seconds:g}"
        told = f"Rate limit reached for requests. Please try again in {wait}s."
        error = {"type": "requests", "param": None, "code": "rate_limit_exceeded"}
        return _json_reply(429, {"message": told, **error}, {"Retry-After": wait})
    message: dict[str, Any] = {"role": "assistant"}
    message["content"] = REFUSAL if fault.kind == "refusal" else ""
    if fault.kind == "malformed-call":
        tool = asked["tools"][0]
        function = {"name": tool.get("function", tool).get("name", ""), "arguments": NO_JSON}
        call = {"index": 0, "id": f"call_{fault.name}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    finish = "tool_calls" if "tool_calls" in message else "stop"
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    head = {"id": "chatcmpl-0", "created": 0, "model": asked.get("model", "")}
    if not asked.get("stream"):
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole = {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        return web.json_response(whole)
    head["object"] = "chat.completion.chunk"
    chunks: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
    ]
    options: Mapping[str, Any] = asked.get("stream_options") or {}
    if options.get("include_usage"):
        chunks.append({**head, "choices": [], "usage": usage})
    events = [*map(json.dumps, chunks), "[DONE]"]
    body = "".join(f"data: {event}\n\n" for event in events)
    return web.Response(text=body, content_type="text/event-stream")


def _json_reply(
    status: int, error: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.json_response({"error": error}, status=status, headers=headers)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _end_to_end(headers: Mapping[str, str], *others: str) -> CIMultiDict[str]:
    """Those that go on: also not those that `Connection` names."""
    found = CIMultiDict(headers)
    named = ",".join(found.getall("connection", ())).split(",")
    for name in (*_OF_THE_CONNECTION, *others, *(word.strip() for word in named)):
        found.popall(name, None)
    return found
