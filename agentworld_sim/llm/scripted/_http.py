"""One client connection: HTTP/1.1 by `h11` over an asyncio stream."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import h11

READ_SIZE = 1 << 18


class ClientLeft(Exception):
    """The client closed the connection before the answer was complete."""


@dataclass(frozen=True)
class HttpRequest:
    """A complete request."""

    method: str
    path: str
    """Without the query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class HttpConnection:
    """Receives requests and sends responses, one at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.SERVER)
        # `drain` then waits until the kernel has everything: what was sent before a scripted
        # disconnect has left.
        writer.transport.set_write_buffer_limits(0)

    async def receive(self) -> HttpRequest | None:
        """The next request, or `None` when there is none to come.

        Raises:
            h11.RemoteProtocolError: what the client sent is not HTTP.
        """
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
            self._protocol.start_next_cycle()
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._protocol.next_event()
            if event is h11.NEED_DATA:
                if self._protocol.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                self._protocol.receive_data(await self._reader.read(READ_SIZE))
            elif isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, bytes(body))
            else:
                return None

    async def respond(
        self,
        status: int,
        body: bytes,
        *,
        content_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a whole response."""
        fields = {**(headers or {}), "content-length": str(len(body))}
        await self.start(status, content_type=content_type, headers=fields)
        if body:
            await self.send(body)
        await self.end()

    async def start(
        self, status: int, *, content_type: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send status and headers; without a length the body is chunked."""
        fields = {"server": "scripted", "content-type": content_type, **(headers or {})}
        reason = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
        pairs = [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]
        await self._send(
            h11.Response(status_code=status, headers=pairs, reason=reason.encode("ascii"))
        )

    async def send(self, data: bytes) -> None:
        """Send a piece of the body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """End the body."""
        await self._send(h11.EndOfMessage())

    async def while_connected(self, work: Awaitable[None]) -> None:
        """Run `work` until it ends or the client leaves.

        Raises:
            ClientLeft: the client closed the connection first; the work was cancelled.
        """
        task = asyncio.ensure_future(work)
        watch = asyncio.ensure_future(self._reader.read(READ_SIZE))
        try:
            while True:
                await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
                if task.done():
                    return await task
                # An error of the connection is a client that left, too.
                data = b"" if watch.exception() else watch.result()
                if not data:
                    raise ClientLeft
                # A next request that came early waits in the protocol's buffer.
                self._protocol.receive_data(data)
                watch = asyncio.ensure_future(self._reader.read(READ_SIZE))
        except ConnectionError as error:
            raise ClientLeft from error
        finally:
            # Read, but not looked at: the beginning of a next request that came early.
            early = watch.done() and not watch.cancelled() and watch.exception() is None
            if early and watch.result():
                self._protocol.receive_data(watch.result())
            await _cancelled(task, watch)

    @property
    def reusable(self) -> bool:
        """Whether another request may follow on this connection."""
        return self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE

    async def close(self) -> None:
        """Close in order, after everything sent has left."""
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    def abort(self, *, reset: bool = False) -> None:
        """Drop the connection; with `reset` the client receives a TCP reset."""
        connection = self._writer.get_extra_info("socket")
        if reset and connection is not None:
            linger_not = struct.pack("ii", 1, 0)
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)
        self._writer.transport.abort()

    async def _send(self, event: h11.Event) -> None:
        data = self._protocol.send(event)
        if data:
            self._writer.write(data)
            await self._writer.drain()


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    return HttpRequest(
        method=head.method.decode("ascii"),
        path=head.target.decode("ascii", errors="replace").partition("?")[0],
        headers={
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers
        },
        body=body,
    )


async def _cancelled(*futures: asyncio.Future[Any]) -> None:
    for future in futures:
        future.cancel()
    await asyncio.gather(*futures, return_exceptions=True)
