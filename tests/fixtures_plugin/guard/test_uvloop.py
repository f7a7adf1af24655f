"""uvloop's loop works in C, without audit events: only `make test-frameworks` has uvloop."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentworld_fixtures._guard import Guard, RealEffect

uvloop: Any = importlib.import_module("uvloop")

ADDRESS = ("192.0.2.1", 80)
NAME = "example.invalid"


async def connect_a_socket() -> None:
    with socket.socket() as sock:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ADDRESS)


ATTEMPTS: dict[str, Callable[[], Awaitable[object]]] = {
    "program": lambda: asyncio.create_subprocess_exec("true"),
    "script": lambda: asyncio.create_subprocess_shell("true"),
    "address": lambda: asyncio.open_connection(*ADDRESS),
    "name": lambda: asyncio.open_connection(NAME, 80),
    "socket": connect_a_socket,
    "look-up": lambda: asyncio.get_running_loop().getaddrinfo(NAME, 80),
    "name of an address": lambda: asyncio.get_running_loop().getnameinfo(ADDRESS),
    "datagrams": lambda: asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=ADDRESS
    ),
}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=list(ATTEMPTS))
def test_what_it_is_asked_for_is_watched(
    attempt: Callable[[], Awaitable[object]], tmp_path: Path
) -> None:
    async def work() -> None:
        await attempt()

    with Guard(writable=[tmp_path]) as guard, pytest.raises(RealEffect):
        uvloop.run(work())
    assert guard.violations


def test_this_machine_and_the_model_may_be_reached(tmp_path: Path) -> None:
    async def work() -> None:
        async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port)
        assert await reader.read() == b""
        writer.close()
        server.close()

    with Guard(writable=[tmp_path]) as guard:
        uvloop.run(work())
    assert guard.violations == ()
