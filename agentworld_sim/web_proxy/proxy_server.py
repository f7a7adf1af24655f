"""`web_proxy`: a forward proxy on this host, before the internet of a world. It opens no connection of its own."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress

import h11

from agentworld_sim.engines.web.requests import WebRequest, WebResponse, normal_url
from agentworld_sim.errors import AgentworldError, UsageError

Answer = Callable[[WebRequest], Awaitable[WebResponse | None]]

MOST_BODY = 10 * 1024 * 1024
"""Bytes of a request's body."""
MOST_HEAD = 64 * 1024
"""Bytes of a request's line and headers."""

_PIECE = 64 * 1024
_TEXT = (("content-type", "text/plain; charset=utf-8"),)
_OWN = ("connection", "content-length", "keep-alive", "transfer-encoding", "upgrade")
"""Headers of a response that the server says itself."""
_log = logging.getLogger(__name__)


class _TooLarge(Exception):
    pass


@asynccontextmanager
async def web_proxy(
    answer: Answer,
    *,
    port: int = 0,
    secure_hosts: Collection[str] = (),
    context: ssl.SSLContext | None = None,
) -> AsyncGenerator[str]:
    """Serves a forward proxy on this host while the context lasts; gives its URL.

    Args:
        answer: The response to a request; `None` for a host that does not exist.
        port: 0 takes a free one.
        secure_hosts: The hosts that `context` has certificates for.
        context: Without one there is no HTTPS.

    Raises:
        UsageError: the port is taken.
    """
    talks: set[asyncio.Task[None]] = set()

    async def serve_client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            # A client may leave, or turn out to be none, at any moment.
            with suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError):
                await _Talk(reader, writer, answer, secure_hosts, context).run()
        except asyncio.CancelledError:
            # The proxy ends; the task has nothing more to say to who made it.
            pass
        finally:
            talks.discard(task)
            writer.close()

    try:
        server = await asyncio.start_server(serve_client, "127.0.0.1", port)
    except OSError as error:
        raise UsageError(
            f"--port {port} cannot be listened on: {error.strerror}. 0 takes a free one."
        ) from None
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks)


class _Talk:
    """One connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: Answer,
        secure_hosts: Collection[str],
        context: ssl.SSLContext | None,
    ) -> None:
        self._reader, self._writer, self._answer = reader, writer, answer
        self._secure_hosts, self._context = secure_hosts, context
        self._origin = ""  # What a tunnel leads to, `https://forum.test`.
        self._http = _protocol()

    async def run(self) -> None:
        """Answers request after request, until one side ends the connection."""
        while True:
            try:
                event = await self._event()
                if not isinstance(event, h11.Request):
                    return
                body = await self._body(event)
            except h11.RemoteProtocolError as error:
                await self._refuse(error.error_status_hint)
                return
            except _TooLarge:
                await self._refuse(413)
                return
            if event.method == b"CONNECT" and not self._origin:
                if not await self._connect(event.target.decode()):
                    return
                continue
            await self._send(await self._response(event, body), is_head=event.method == b"HEAD")
            if self._http.our_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                self._writer.write(self._http.send(go_on) or b"")
            self._http.receive_data(await self._reader.read(_PIECE))
        return event

    async def _body(self, request: h11.Request) -> bytes:
        length = dict(request.headers).get(b"content-length", b"0")
        if self._http.they_are_waiting_for_100_continue and int(length) > MOST_BODY:
            raise _TooLarge
        pieces: list[bytes] = []
        size = 0
        while isinstance(event := await self._event(), h11.Data):
            size += len(event.data)
            # Read to its end all the same: a client that still writes would not read the refusal.
            if size <= MOST_BODY:
                pieces.append(bytes(event.data))
        if size > MOST_BODY:
            raise _TooLarge
        return b"".join(pieces)

    async def _connect(self, target: str) -> bool:
        """Begins a tunnel to a host of the world; whether it stands."""
        host, _, port = target.lower().rpartition(":")
        is_plain = port == "80"
        if host not in self._secure_hosts and (self._context is not None or not is_plain):
            known = self._context is None and await self._answer(WebRequest(f"https://{host}/"))
            told = f"Could not resolve host: {host}"
            if known:
                told = f"No HTTPS here: start `agentworld web` with --https, or use http://{host}/."
            await self._send(WebResponse(502, f"{told}\n".encode(), _TEXT), closes=True)
            return False
        self._writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await self._writer.drain()
        self._http = _protocol()
        if is_plain:
            self._origin = f"http://{host}"
            return True
        assert self._context is not None
        await self._writer.start_tls(self._context)
        self._origin = f"https://{target.lower().removesuffix(':443')}"
        return True

    async def _response(self, event: h11.Request, body: bytes) -> WebResponse:
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers
        )
        try:
            url = normal_url(self._url(event.target.decode(), dict(headers).get("host", "")))
        except ValueError:
            url = ""
        if not url:
            return WebResponse(400, b"Bad Request\n", _TEXT)
        request = WebRequest(url, event.method.decode(), headers, body)
        try:
            response = await self._answer(request)
        except AgentworldError as error:
            _log.error("%s %s: %s", request.method, url.partition("?")[0], error)
            return WebResponse(502, b"Bad Gateway\n", _TEXT)
        if response is None:
            told = f"Could not resolve host: {request.host}\n"
            return WebResponse(502, told.encode(), _TEXT)
        return response

    def _url(self, target: str, host: str) -> str:
        """The URL that is asked for; empty where it is none."""
        if target.startswith(("http://", "https://")):
            return target.partition("#")[0]
        if not target.startswith("/"):
            return ""
        return (self._origin or f"http://{host}") + target.partition("#")[0]

    async def _refuse(self, status: int) -> None:
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await self._send(WebResponse(status, headers=_TEXT), closes=True)

    async def _send(
        self, response: WebResponse, *, is_head: bool = False, closes: bool = False
    ) -> None:
        headers = [one for one in response.headers if one[0].lower() not in _OWN]
        body = b"" if response.status in (204, 304) else response.body
        if response.status not in (204, 304):
            headers.append(("content-length", str(len(body))))
        if closes:
            headers.append(("connection", "close"))
        try:
            head = h11.Response(
                status_code=response.status, headers=headers, reason=response.status_text
            )
        except (h11.LocalProtocolError, UnicodeError):
            # A site's template wrote a header that is none.
            body = b"Internal Server Error\n"
            headers = [*_TEXT, ("content-length", str(len(body)))]
            head = h11.Response(status_code=500, headers=headers)
        written = self._http.send(head) or b""
        if body and not is_head:
            written += self._http.send(h11.Data(data=body)) or b""
        self._writer.write(written + (self._http.send(h11.EndOfMessage()) or b""))
        await self._writer.drain()


def _protocol() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
