"""Nothing outside of this machine is reached, except the servers that were named."""

from __future__ import annotations

import _socket
import asyncio
import http.client
import os
import smtplib
import socket
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from email.utils import make_msgid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import getaddrinfo as getaddrinfo_of_before
from typing import Any

import httpx2
import pytest

from agentworld_fixtures._guard import Guard, RealEffect
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.scripted import ScriptedModelServer
from tests.llm.harness import MODEL, asked, raw_server, response

pytestmark = pytest.mark.promise("guard-network")

ADDRESS = ("192.0.2.1", 80)
"""For documentation (RFC 5737): nobody has it."""

NAME = "example.invalid"
"""A name that does not exist (RFC 6761)."""


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[Guard]:
    with Guard(writable=[tmp_path]) as guard:
        yield guard


def datagram() -> socket.socket:
    return socket.socket(type=socket.SOCK_DGRAM)


def stream(family: int = socket.AF_INET) -> socket.socket:
    made = socket.socket(family)
    made.setblocking(False)
    return made


class Lying(socket.socket):
    """Says that it is of another family."""

    @property
    def family(self) -> Any:
        return socket.AF_UNIX


class LyingAddress(tuple[Any, ...]):
    """Says that it is another address."""

    def __getitem__(self, index: Any) -> Any:
        here: tuple[Any, ...] = ("127.0.0.1", 80)
        return here[index]


def closing(use: Callable[[socket.socket], object], made: Callable[[], socket.socket]) -> object:
    with made() as sock:
        return use(sock)


async def resolve() -> None:
    await asyncio.get_running_loop().getaddrinfo(NAME, 80)


async def ask_by_httpx() -> None:
    async with httpx2.AsyncClient(trust_env=False) as client:
        await client.get(f"http://{NAME}/")


async def datagrams_of_asyncio() -> None:
    await asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=ADDRESS
    )


SHORT: dict[str, Callable[[], object]] = {
    "connect": lambda: closing(lambda sock: sock.connect(ADDRESS), stream),
    "connect_ex": lambda: closing(lambda sock: sock.connect_ex(ADDRESS), stream),
    "connect by name": lambda: closing(lambda sock: sock.connect((NAME, 80)), stream),
    "C's connect": lambda: closing(lambda sock: _socket.socket.connect(sock, ADDRESS), stream),
    "create_connection": lambda: socket.create_connection(ADDRESS, timeout=0.1),
    "sendto": lambda: closing(lambda sock: sock.sendto(b"x", ADDRESS), datagram),
    "sendto with flags": lambda: closing(lambda sock: sock.sendto(b"x", 0, ADDRESS), datagram),
    "sendmsg": lambda: closing(lambda sock: sock.sendmsg([b"x"], [], 0, ADDRESS), datagram),
    "sendmsg by name": lambda: closing(
        lambda sock: sock.sendmsg([b"x"], [], 0, (NAME, 80)), datagram
    ),
    "sendto by name": lambda: closing(lambda sock: sock.sendto(b"x", (NAME, 80)), datagram),
    "bind by name": lambda: closing(lambda sock: sock.bind((NAME, 0)), stream),
    "connected datagrams": lambda: closing(lambda sock: sock.connect(ADDRESS), datagram),
    "a lying socket": lambda: closing(lambda sock: sock.connect(ADDRESS), Lying),
    "a lying address": lambda: closing(lambda sock: sock.connect(LyingAddress(ADDRESS)), stream),
    "IPv6": lambda: closing(
        lambda sock: sock.connect(("2001:db8::1", 80)), lambda: stream(socket.AF_INET6)
    ),
    "IPv4 in IPv6": lambda: closing(
        lambda sock: sock.connect(("::ffff:192.0.2.1", 80)), lambda: stream(socket.AF_INET6)
    ),
    "getaddrinfo": lambda: socket.getaddrinfo(NAME, 80),
    "getaddrinfo of before": lambda: getaddrinfo_of_before(NAME, 80),
    "C's getaddrinfo": lambda: _socket.getaddrinfo(NAME, 80),
    "getaddrinfo of bytes": lambda: socket.getaddrinfo(NAME.encode(), 80),
    "gethostbyname": lambda: socket.gethostbyname(NAME),
    "gethostbyname_ex": lambda: socket.gethostbyname_ex(NAME),
    "gethostbyaddr": lambda: socket.gethostbyaddr(ADDRESS[0]),
    "getnameinfo": lambda: socket.getnameinfo(ADDRESS, 0),
    "an address with a dot": lambda: socket.getaddrinfo("127.0.0.1.", 80),
    "localhost in front": lambda: socket.getaddrinfo(f"localhost.{NAME}", 80),
    "127.0.0.1 in front": lambda: socket.getaddrinfo(f"127.0.0.1.{NAME}", 80),
    "urllib": lambda: urllib.request.urlopen(f"http://{NAME}/", timeout=0.1),
    "http.client": lambda: http.client.HTTPConnection(ADDRESS[0], timeout=0.1).connect(),
    "smtplib": lambda: smtplib.SMTP(NAME, timeout=0.1),
    "asyncio": lambda: asyncio.run(asyncio.open_connection(*ADDRESS)),
    "asyncio by name": lambda: asyncio.run(asyncio.open_connection(NAME, 80)),
    "asyncio's getaddrinfo": lambda: asyncio.run(resolve()),
    "asyncio's datagrams": lambda: asyncio.run(datagrams_of_asyncio()),
    "httpx2": lambda: httpx2.get(f"http://{NAME}/", trust_env=False),
    "httpx2 in asyncio": lambda: asyncio.run(ask_by_httpx()),
}


@pytest.mark.parametrize("attempt", SHORT.values(), ids=list(SHORT))
def test_nothing_outside_is_reached(
    attempt: Callable[[], object], guard: Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(RealEffect):
        attempt()
    assert guard.violations


async def test_a_look_up_in_a_coroutine_names_the_coroutine(guard: Guard) -> None:
    # The look-up itself is done by a thread of the event loop.
    async def find_weather() -> None:
        await asyncio.open_connection(NAME, 80)

    with pytest.raises(RealEffect) as caught:
        await find_weather()
    assert str(caught.value).startswith(f"find_weather() looked up the host '{NAME}'")


def test_this_machine_may_be_reached(guard: Guard, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port)).close()
    first, second = socket.socketpair()
    first.close()
    second.close()
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        here = os.path.relpath(tmp_path / "socket")
        server.bind(here)
        server.listen()
        client.connect(here)
    assert socket.getaddrinfo(None, 0)
    assert guard.violations == ()


def test_the_name_of_this_machine_may_be_looked_up(guard: Guard) -> None:
    make_msgid()
    with ThreadingHTTPServer(("", 0), BaseHTTPRequestHandler):
        pass
    with suppress(OSError):
        socket.gethostbyname(socket.gethostname())
    assert guard.violations == ()


def test_the_named_server_may_be_reached_and_no_other_port_of_it(tmp_path: Path) -> None:
    with Guard(writable=[tmp_path], urls=["http://192.0.2.1:8000/v1"]) as guard:
        with stream() as sock:
            sock.connect_ex(("192.0.2.1", 8000))
        assert guard.violations == ()
        with stream() as sock, pytest.raises(RealEffect, match=r"connected to 192\.0\.2\.1:8001"):
            sock.connect_ex(("192.0.2.1", 8001))


def test_the_addresses_of_a_named_server_may_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[tuple[object, ...]] = []

    def resolver(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        answers.append((host, port))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.7", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with Guard(writable=[tmp_path], urls=["https://models.invalid/v1"]) as guard, stream() as sock:
        sock.connect_ex(("192.0.2.7", 443))
        with pytest.raises(RealEffect):
            sock.connect_ex(("192.0.2.7", 80))
        with pytest.raises(RealEffect):
            sock.connect_ex(("192.0.2.8", 443))
    assert ("models.invalid", 443) in answers
    assert len(guard.violations) == 2


def test_a_proxy_on_this_machine_leads_out_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        port = proxy.getsockname()[1]
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        with (
            Guard(writable=[tmp_path]),
            pytest.raises(RealEffect, match=f"127.0.0.1:{port}, a proxy that leads out"),
        ):
            urllib.request.build_opener().open(f"http://{NAME}/")


async def test_the_world_model_is_reached_through_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_server(response()) as proxy:
        monkeypatch.setenv("http_proxy", f"http://localhost:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        url = f"http://{NAME}/v1"
        client = ChatClient(ModelSettings(url=url, model=MODEL))
        with Guard(writable=[tmp_path], urls=[url]) as guard:
            assert (await client.ask(asked())).content == "fine"
        await client.close()
    assert guard.violations == ()


async def test_a_completion_of_the_named_model_may_be_asked_for_by_way_of_a_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b'{"choices": [{"index": 0, "text": "fine", "finish_reason": "stop"}]}'
    async with raw_server(response(body, content_type="application/json")) as proxy:
        monkeypatch.setenv("http_proxy", f"http://localhost:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)
        url = f"http://{NAME}/v1"
        client = ChatClient(ModelSettings(url=url, model=MODEL, retries=0))
        with Guard(writable=[tmp_path], urls=[url]) as guard:
            await client.complete({"prompt": "x"})
        await client.close()
    assert guard.violations == ()


def test_a_model_on_this_machine_answers(tmp_path: Path) -> None:
    with ScriptedModelServer(["hello"]) as server, Guard(writable=[tmp_path]) as guard:
        assert httpx2.get(f"{server.url}/models", trust_env=False).status_code == 200
    assert guard.violations == ()
