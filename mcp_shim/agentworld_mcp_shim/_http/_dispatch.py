"""Which of several processes gets a connection: the one that has the world open that its first request is about.

Two processes that answer for one world at a time open it twice and compute again what the other did first. A later
request on the same connection may be about another world; the process then opens that from the store.
"""

from __future__ import annotations

import contextlib
import errno
import re
import socket
import time
import zlib
from collections.abc import Sequence

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from agentworld_mcp_shim._world_keys import HEADER, QUERY

FIRST_BYTES_SECONDS = 10
"""How long the kernel keeps back a connection on which nothing arrives, where it can."""

FULL_SECONDS = 0.01
"""Between two tries while no process takes a connection."""

_HEAD_BYTES = 16_384

_URL = re.compile(rb"\S+ (?:/worlds/([^/?\s]+)|\S*[?&]" + QUERY.encode() + rb"=([^&\s]+))")
_FIELD = re.compile(
    rb"\r\n("
    + HEADER.encode()
    + rb"|mcp-session-id|mcp-protocol-version|authorization):[ \t]*([^\r\n]*)",
    re.IGNORECASE,
)


def process_of(key: bytes, count: int) -> int:
    """The number of the process whose world or session `key` names."""
    return zlib.crc32(key) % count


def key_of(head: bytes) -> bytes | None:
    """What names the world of a request, of which these are the first bytes; `None` where any process will do."""
    fields = {name.lower(): value.strip() for name, value in _FIELD.findall(head)}
    url = _URL.match(head)
    named = fields.get(HEADER.encode()) or (url and (url[1] or url[2]))
    if named or (named := fields.get(b"mcp-session-id")):
        return named
    version = fields.get(b"mcp-protocol-version", b"").decode("latin-1")
    if not version or version in HANDSHAKE_PROTOCOL_VERSIONS:
        # It begins a session, which will belong to whoever begins it.
        return None
    # The principal's own world, or that of the run.
    return fields.get(b"authorization", b"")


def dispatch(listening: socket.socket, inboxes: Sequence[socket.socket]) -> None:
    """Accepts connections and gives them to processes, until `listening` is shut down. Blocks."""
    if hasattr(socket, "TCP_DEFER_ACCEPT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, FIRST_BYTES_SECONDS)
    turn = 0
    while True:
        try:
            connection, _ = listening.accept()
        except ConnectionError:
            continue
        except OSError as error:
            if listening.fileno() < 0 or error.errno == errno.EINVAL:
                return
            time.sleep(FULL_SECONDS)
            continue
        turn += 1
        with connection:
            head = b""
            with contextlib.suppress(OSError):
                head = connection.recv(_HEAD_BYTES, socket.MSG_PEEK | socket.MSG_DONTWAIT)
            key = key_of(head)
            first = turn if key is None else process_of(key, len(inboxes))
            while not _give(connection, inboxes, first):
                time.sleep(FULL_SECONDS)


def _give(connection: socket.socket, inboxes: Sequence[socket.socket], first: int) -> bool:
    """Whether a process takes the connection: the one of that number, or another whose queue is not full."""
    for number in range(first, first + len(inboxes)):
        with contextlib.suppress(OSError):
            socket.send_fds(inboxes[number % len(inboxes)], [b"."], [connection.fileno()])
            return True
    return False


class DispatchedSocket(socket.socket):
    """Stands for a listening socket, and accepts the connections that `dispatch` gives to this process."""

    def listen(self, backlog: int = 0, /) -> None:
        """Nothing to do."""

    def accept(self) -> tuple[socket.socket, object]:
        """The next connection; raises `BlockingIOError` while there is none."""
        _, files, _, _ = socket.recv_fds(self, 1, 1)
        if not files:
            raise BlockingIOError
        connection = socket.socket(fileno=files[0])
        try:
            return connection, connection.getpeername()
        except OSError:
            connection.close()
            raise ConnectionAbortedError from None
