"""The `openai` SDK as a transport: requests as bytes, responses unread, errors put into words.

Of the SDK neither retries nor errors nor streams are used: a retry is decided where a whole reply is
known, and a typed event costs several times what reading it does.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import httpx2
from openai import (
    AsyncOpenAI,
    DefaultAioHttpClient,
    DefaultAsyncHttpxClient,
    OpenAIError,
    RequestOptions,
)

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.failures import SESSION_HEADER, TransportError, whole
from agentworld_sim.llm.settings import ModelSettings

IDLE_SECONDS = 4.0
"""How long an idle connection is kept. uvicorn, under vLLM and SGLang, closes it after 5 s by
default; a request sent in that moment would be lost."""

PASSED_ON = ("host", "content-length", SESSION_HEADER)
"""Headers of a request that are not the same in all."""

LOST = (OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, aiohttp.ClientError, ssl.SSLError)
"""What a request that fails raises; the SDK lets some of the errors of what is below it through."""


class _Unsuccessful(Exception):
    """Hands a response past the SDK, which would read all of it however long it is."""

    def __init__(self, response: httpx2.Response) -> None:
        super().__init__()
        self.response = response


def client(settings: ModelSettings, headers: Mapping[str, str], *, proxied: bool) -> AsyncOpenAI:
    """The SDK's client of a server, for one event loop.

    Raises:
        UsageError: a package for the proxy is missing.
    """

    async def prepare(request: httpx2.Request) -> None:
        # Instead of the SDK's headers, among which are keys and organisations that the environment
        # names for another server.
        own = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        request.headers = httpx2.Headers({**headers, **own})

    async def look(response: httpx2.Response) -> None:
        if not response.is_success:
            body = await whole(response.aiter_raw())
            raise _Unsuccessful(
                httpx2.Response(response.status_code, headers=response.headers, content=body)
            )

    # aiohttp knows no SOCKS, and says less about a proxy that fails.
    kind = DefaultAsyncHttpxClient if proxied else DefaultAioHttpClient
    try:
        http = kind(
            verify=_ssl_context(urlsplit(settings.url).scheme),
            trust_env=proxied,
            follow_redirects=False,
            limits=httpx2.Limits(
                # The slots are the limit on requests; the list of models is asked for beside them.
                max_connections=settings.concurrency + 1,
                max_keepalive_connections=settings.concurrency,
                keepalive_expiry=IDLE_SECONDS,
            ),
            event_hooks={"request": [prepare], "response": [look]},
        )
    except ImportError as error:
        raise UsageError(
            "the proxy named in the environment is a SOCKS proxy, for which a package is missing."
            " Install it with: pip install 'httpx2[socks]'"
        ) from error
    # All is said: what is not would be looked for in the environment.
    return AsyncOpenAI(
        api_key="see prepare",
        admin_api_key="",
        organization="",
        project="",
        webhook_secret="",
        base_url=settings.url,
        max_retries=0,
        http_client=http,
    )


@cache
def _ssl_context(scheme: str) -> ssl.SSLContext:
    """The certificates that are trusted, read once: that takes tens of milliseconds."""
    if scheme == "https":
        return httpx2.create_ssl_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


async def send(
    sdk: AsyncOpenAI,
    url: str,
    body: bytes | None,
    *,
    session: str,
    connect: float,
    silence: float,
) -> httpx2.Response:
    """The response to a request, unread."""
    options: RequestOptions = {"timeout": httpx2.Timeout(silence, connect=connect, pool=None)}
    if session:
        options["headers"] = {SESSION_HEADER: session}
    # For this type the SDK gives what httpx2 got, and reads nothing of it; its own stream is not made.
    unread: Any = {"cast_to": httpx2.Response, "stream": True, "options": options}
    try:
        if body is None:
            return await sdk.get(url, **unread)
        return await sdk.post(url, content=body, **unread)
    except _Unsuccessful as error:
        return error.response


def classify(error: BaseException) -> TransportError:
    """What went wrong, found among an error's causes: the SDK names only a connection or a time-out,
    and its bridge to aiohttp calls a server that hung up a time-out."""
    causes = tuple(_causes(error))

    def cause_of(*kinds: type[BaseException]) -> BaseException | None:
        return next((cause for cause in causes if isinstance(cause, kinds)), None)

    if cause_of(socket.gaierror):
        return TransportError("unknown host")
    if tls := cause_of(ssl.SSLError):
        return TransportError("tls", str(tls))
    if proxy := cause_of(httpx2.ProxyError):
        return TransportError("proxy", str(proxy))
    if cause_of(ConnectionRefusedError):
        return TransportError("refused")
    below = cause_of(aiohttp.ClientError)
    if isinstance(below, aiohttp.ConnectionTimeoutError) or (
        not below and cause_of(httpx2.ConnectTimeout)
    ):
        return TransportError("no connection")
    if isinstance(below, aiohttp.ServerTimeoutError) or (
        not below and cause_of(httpx2.TimeoutException)
    ):
        return TransportError("silent")
    if isinstance(below, aiohttp.ClientPayloadError):
        return TransportError("lost", "the connection was closed in the middle of an answer")
    told = below or cause_of(httpx2.HTTPError) or error
    unreached = isinstance(told, aiohttp.ClientConnectorError | httpx2.ConnectError)
    # As text, such an error names the whole URL, in which a key may stand.
    said = told.message if isinstance(told, aiohttp.ClientResponseError) else str(told)
    return TransportError("cannot reach" if unreached else "lost", said or type(told).__name__)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, its causes and theirs."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop(0)
        if one is None or one in seen:
            continue
        seen.append(one)
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += cast(tuple[BaseException, ...], one.exceptions)
        waiting += [one.__cause__, one.__context__]
