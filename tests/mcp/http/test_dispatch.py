"""Which process gets a connection."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from agentworld_mcp_shim._http._dispatch import DispatchedSocket, dispatch, key_of, process_of
from agentworld_mcp_shim._http._sessions import SignedSessions

NEWEST = "MCP-Protocol-Version: 2026-07-28"
OLDER = "mcp-protocol-version: 2025-11-25"


def head(path: str, *fields: str) -> bytes:
    """The first bytes of a request."""
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: here", *fields, "", "{}")).encode()


@pytest.mark.parametrize(
    ("request_head", "key"),
    [
        (head("/mcp"), None),
        (head("/healthz"), None),
        (head("/mcp", "Authorization: Bearer x"), None),
        (head("/mcp", OLDER, "MCP-Session-Id: s.1", "Authorization: Bearer x"), b"s.1"),
        (head("/mcp", NEWEST), b""),
        (head("/mcp", NEWEST, "authorization: Bearer x"), b"Bearer x"),
        (head("/worlds/lab/mcp", NEWEST, "Authorization: Bearer x"), b"lab"),
        (head("/worlds/lab/up/mcp", OLDER, "mcp-session-id: s.1"), b"lab"),
        (head("/mcp?world=lab", NEWEST), b"lab"),
        (head("/mcp?x=1&world=lab&y=2"), b"lab"),
        (head("/worlds/lab/mcp", "Agentworld-World:  other "), b"other"),
        (b"", None),
        (b"\x16\x03\x01", None),
        (b"POST /worlds/la", b"la"),
    ],
)
def test_what_decides_about_the_world_decides_about_the_process(
    request_head: bytes, key: bytes | None
) -> None:
    assert key_of(request_head) == key


@given(st.binary(max_size=200))
def test_whatever_is_sent_has_a_key_or_none(first: bytes) -> None:
    key = key_of(first)
    assert key is None or 0 <= process_of(key, 3) < 3


def test_a_session_belongs_to_the_process_that_began_it(tmp_path: Path) -> None:
    for process in range(3):
        sessions = SignedSessions(tmp_path, b"secret", process=process, count=3)
        ids = [sessions.begin("alice") for _ in range(5)]
        assert {process_of(one.encode(), 3) for one in ids} == {process}
        assert all(SignedSessions(tmp_path, b"secret").alive(one, "alice") for one in ids)


@pytest.fixture
def processes() -> Generator[tuple[tuple[str, int], list[socket.socket], list[DispatchedSocket]]]:
    """The address of a dispatcher, and both ends of the queues of three processes."""
    pairs = [socket.socketpair() for _ in range(3)]
    inboxes = [inbox for inbox, _ in pairs]
    outlets = [DispatchedSocket(fileno=outlet.detach()) for _, outlet in pairs]
    for inbox in inboxes:
        inbox.setblocking(False)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        running = threading.Thread(target=dispatch, args=(listening, inboxes))
        running.start()
        try:
            yield listening.getsockname(), inboxes, outlets
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            running.join(10)
    assert not running.is_alive()
    for one in (*inboxes, *outlets):
        one.close()


def test_a_process_is_given_the_connection_with_all_that_was_sent_on_it(
    processes: tuple[tuple[str, int], list[socket.socket], list[DispatchedSocket]],
) -> None:
    address, _, outlets = processes
    for name in ("a", "b", "c", "d", "e"):
        sent = head(f"/worlds/{name}/mcp", NEWEST)
        with socket.create_connection(address) as client:
            client.sendall(sent)
            connection, peer = outlets[process_of(name.encode(), 3)].accept()
            with connection:
                assert peer == client.getsockname()
                assert connection.proto == socket.IPPROTO_TCP
                assert connection.recv(1000) == sent


def test_where_the_queue_of_a_process_is_full_another_gets_the_connection(
    processes: tuple[tuple[str, int], list[socket.socket], list[DispatchedSocket]],
) -> None:
    address, inboxes, outlets = processes
    full = process_of(b"lab", 3)
    with pytest.raises(BlockingIOError):
        while True:
            inboxes[full].send(bytes(65_536))
    with socket.create_connection(address) as client:
        client.sendall(head("/worlds/lab/mcp"))
        connection, _ = outlets[(full + 1) % 3].accept()
        connection.close()
