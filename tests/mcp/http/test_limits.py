"""What is refused before a world hears of it."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from agentworld_mcp_shim._http._address import parsed_address
from agentworld_sim.errors import UsageError
from tests.mcp.http.conftest import Serve, calling, initialize, said

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim


def test_only_known_names_of_this_server_and_known_origins_are_taken(serve: Serve) -> None:
    served = serve(
        "--allow-host", "agents.example.com", "--allow-origin", "https://app.example.com"
    )
    port = served.base.rpartition(":")[2]
    taken = [f"127.0.0.1:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "agents.example.com"]
    taken.append("agents.example.com:8443")
    refused = ["", "evil.example.com", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil.com:{port}"]
    refused += [f"evil.com@127.0.0.1:{port}", "agents.example.com.evil.com", "agents.example.com:x"]
    assert [served.get("/healthz", {"host": host}).status_code for host in taken] == [200] * 5
    assert [served.get("/healthz", {"host": host}).status_code for host in refused] == [421] * 8
    for path in ("/healthz", "/readyz", "/metrics", "/mcp"):
        assert served.get(path, {"host": "evil.example.com"}).status_code == 421
        assert served.get(path, {"origin": "https://evil.example.com"}).status_code == 403
    for origin, status in (
        (f"http://localhost:{port}", 200),
        ("https://app.example.com", 200),
        ("https://app.example.com:444", 403),
        ("http://localhost", 403),
        ("null", 403),
        ("", 403),
    ):
        answer = served.post(initialize(), {"origin": origin})
        assert (origin, answer.status_code) == (origin, status)


def test_a_request_that_is_too_large_is_refused_before_it_is_read(serve: Serve) -> None:
    served = serve("--max-request-bytes", "10000")
    large = calling("echo " + "x" * 20_000)
    assert served.post(large).status_code == 413
    chunks = served.post(b"".join([b" " * 6000, b" " * 6000]))
    assert chunks.status_code == 413
    assert served.post(initialize()).status_code == 200


def test_a_request_without_a_length_is_counted_as_it_comes(serve: Serve) -> None:
    served = serve("--max-request-bytes", "10000")
    host, _, port = served.base.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nTransfer-Encoding: chunked\r\n"
            "Content-Type: application/json\r\n\r\n".encode()
        )
        for _ in range(3):
            connection.sendall(b"fa0\r\n" + b" " * 4000 + b"\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_what_is_no_message_is_a_clear_refusal_in_both_eras(serve: Serve) -> None:
    for options in ((), ("--workers", "2")):
        served = serve(*options)
        for body in (b"", b"{", b"[]", b"7", b"[" * 5000, b'{"jsonrpc": "2.0"}', b"\xff"):
            for version in ("2025-11-25", "2026-07-28"):
                answer = served.post(body, {"mcp-protocol-version": version})
                assert 400 <= answer.status_code < 500, (body, version, answer.text)
        served.process.terminate()
        assert "Traceback" not in served.ended()[1]


async def test_more_requests_at_a_time_than_allowed_are_told_to_come_back(serve: Serve) -> None:
    served = serve("--max-concurrent", "2")
    host, _, port = served.base.removeprefix("http://").partition(":")
    waiting = [await asyncio.open_connection(host, int(port)) for _ in range(2)]
    for _, writer in waiting:
        # Each holds its place until its body is there.
        writer.write(
            f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 5\r\n"
            "Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n".encode()
        )
    for reader, _ in waiting:
        assert (await reader.readline()).startswith(b"HTTP/1.1 100")
    busy = served.post(initialize())
    assert (busy.status_code, busy.headers["retry-after"]) == (503, "1")
    assert served.get("/healthz").status_code == 200
    for reader, writer in waiting:
        writer.write(b"12345")
        await reader.readline()
        assert (await reader.readline()).startswith(b"HTTP/1.1 4")
        writer.close()
    async with served.client() as client:
        assert await said(client, "echo hi") == "hi\n"


def test_an_address_is_a_port_with_or_without_a_host() -> None:
    assert parsed_address("8765") == ("127.0.0.1", 8765)
    assert parsed_address("0.0.0.0:80") == ("0.0.0.0", 80)
    assert parsed_address("[::1]:0") == ("::1", 0)
    assert parsed_address("localhost:1") == ("localhost", 1)
    for wrong in ("", ":", "x", "1:2:3", "::1:80", "host:", ":80", "70000", "-1", "8\u0660"):
        with pytest.raises(UsageError, match="is not of the form"):
            parsed_address(wrong)


def test_a_port_that_is_taken_is_said_so(serve: Serve, shim: Shim) -> None:
    for options in ((), ("--workers", "2")):
        served = serve(*options)
        port = served.base.rpartition(":")[2]
        for others in ("1", "2"):
            done = shim.run("--http", port, "--workers", others)
            assert done.returncode == 2
            assert f"cannot listen on 127.0.0.1:{port}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workers", "2"], "Say where with --http PORT"),
        (["--http", "0", "--world-ttl", "soon"], "is no time"),
        (["--http", "0", "--workers", "2", "--memory"], "--memory keeps worlds in one process"),
        (
            ["--http", "0", "--workers", "2", "--access", "bash=real", "--", "true"],
            "do not go together",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    shim: Shim, arguments: list[str], message: str
) -> None:
    done = shim.run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
