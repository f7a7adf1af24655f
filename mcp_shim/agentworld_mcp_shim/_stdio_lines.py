"""Messages over pipes, one a line, read and written without a thread where the pipes allow it.

The SDK's own transport hands every line to a thread and back, in both directions.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import select
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

MAX_REQUEST_BYTES = 4 * 1024 * 1024
"""Of one request, here and over HTTP, where nobody says otherwise."""

_ID = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")'
_PLAIN = rb'"(?:jsonrpc|method)"\s*:\s*"[^"]*"'
_ID_FIRST = re.compile(rb"\s*\{\s*(?:" + _PLAIN + rb"\s*,\s*)*" + _ID)
_ID_LAST = re.compile(_ID + rb"\s*(?:,\s*" + _PLAIN + rb"\s*)*\}\s*\Z")
"""Clients write the id before the parameters or after them."""

_SEEN = 1024
"""Bytes at each end of a request in which its id is looked for."""

_CHUNK = 65_536


class LimitedLines:
    """Cuts what arrives on standard input into lines."""

    def __init__(self, most: int, refuse: Callable[[int | str | None], None]) -> None:
        """
        Args:
            most: Bytes that a line may have.
            refuse: Told the id of each request that is larger, where one is found; it is read to its end
                and never kept.
        """
        self._most = most
        self._refuse = refuse
        self._line = bytearray()
        self._start = b""
        """Of a line that is too long: then only its end is in `_line`."""

    def feed(self, data: bytes) -> Iterator[str]:
        """The lines that end in the next bytes; no bytes end the last one."""
        *ends, rest = data.split(b"\n")
        if not data and self._line:
            ends = [b""]
        for part in ends:
            self._line += part
            if self._start or len(self._line.rstrip(b"\r")) > self._most:
                start = self._start or self._line[:_SEEN]
                found = _ID_FIRST.match(start) or _ID_LAST.search(self._line[-_SEEN:])
                self._refuse(None if found is None else json.loads(found[1]))
            else:
                yield self._line.decode("utf-8", "replace")
            self._line.clear()
            self._start = b""
        self._line += rest
        if self._start or len(self._line) > self._most + 1:
            self._start = self._start or bytes(self._line[:_SEEN])
            del self._line[:-_SEEN]

    def messages(self, data: bytes) -> Iterator[SessionMessage | Exception]:
        """What these lines say; an exception for one that is no message."""
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        for line in self.feed(data):
            try:
                yield SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                yield error


def read_messages(wire: int, lines: LimitedLines) -> tuple[Any, Any]:
    """Takes messages from a file descriptor to the running event loop; returns the same as `read_in_thread`."""
    loop = asyncio.get_running_loop()
    deliver, send, receive = _stream()

    def readable() -> None:
        data = _read(wire)
        for message in lines.messages(data):
            deliver(message)
        if not data:
            loop.remove_reader(wire)
            send.close()

    def read() -> Iterator[SessionMessage | Exception]:
        while data := _read(wire):
            yield from lines.messages(data)
        yield from lines.messages(b"")

    try:
        loop.add_reader(wire, readable)
    except (NotImplementedError, OSError):
        # Windows watches no pipes, and nobody watches files.
        return read_in_thread(read, name="stdin")
    return send, receive


def _read(wire: int) -> bytes:
    try:
        return os.read(wire, _CHUNK)
    except OSError:
        return b""


def read_in_thread(messages: Callable[[], Iterator[Any]], *, name: str) -> tuple[Any, Any]:
    """Takes messages from a thread to the running event loop.

    Returns:
        Both ends of the SDK's `ReadStream`: the one that closes it, and the one to receive from.
    """
    loop = asyncio.get_running_loop()
    deliver, send, receive = _stream()

    def read() -> None:
        # RuntimeError: the loop has ended before the other side did.
        with contextlib.suppress(RuntimeError):
            for message in messages():
                loop.call_soon_threadsafe(deliver, message)
            loop.call_soon_threadsafe(send.close)

    # A daemon: nothing can interrupt it while it reads.
    threading.Thread(target=read, name=name, daemon=True).start()
    return send, receive


def _stream() -> tuple[Callable[[Any], None], Any, Any]:
    """A stream without a limit: what sends into it while it is open, and its two ends."""
    import math

    import anyio

    send, receive = anyio.create_memory_object_stream["SessionMessage | Exception"](math.inf)

    def deliver(message: SessionMessage | Exception) -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            send.send_nowait(message)

    return deliver, send, receive


class LineWriter:
    """Implements the SDK's `WriteStream` on a pipe."""

    def __init__(self, wire: IO[bytes], broken: Callable[[], Awaitable[object]]) -> None:
        """
        Args:
            broken: Awaited when nobody reads them any more.
        """
        self._wire = wire
        self._broken = broken
        self._writing = asyncio.Lock()
        self._poll = select.poll() if hasattr(select, "poll") else None
        if self._poll is not None:
            self._poll.register(wire, select.POLLOUT)

    async def send(self, item: SessionMessage) -> None:
        """Writes one message."""
        import anyio

        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        try:
            async with self._writing:
                if self._takes(line):
                    os.write(self._wire.fileno(), line)
                else:
                    await asyncio.to_thread(self._write, line)
        except (OSError, ValueError) as error:
            await self._broken()
            raise anyio.BrokenResourceError from error

    def _takes(self, line: bytes) -> bool:
        """Whether the pipe takes a line at once: one that says it takes anything takes so much."""
        if self._poll is None or len(line) > select.PIPE_BUF:
            return False
        return any(events & select.POLLOUT for _, events in self._poll.poll(0))

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._wire.fileno(), rest) :]

    async def aclose(self) -> None:
        """Leaves the pipe open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def own_output() -> IO[bytes]:
    """Standard output for us alone: what is printed, here or by processes that we start, is an error."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(wire, "wb", buffering=0)


def own_input() -> int:
    """Standard input for us alone: processes that we start find it empty."""
    try:
        wire = os.dup(0)
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        os.close(empty)
    except OSError:
        return 0
    return wire
