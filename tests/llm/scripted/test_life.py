"""Starting, many clients at once, odd clients, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted import Gate, Hang, Script, ScriptedModelServer, ScriptedReply

Ask = Callable[..., httpx2.Response]
MESSAGES = [{"role": "user", "content": "?"}]
BODY = json.dumps({"messages": MESSAGES})
HEADERS = {"Content-Type": "application/json"}
CHAT = "/v1/chat/completions"


def address_of(server: ScriptedModelServer) -> tuple[str, int]:
    host, _, port = server.root_url.removeprefix("http://").partition(":")
    return host, int(port)


@contextmanager
def connected(script: Script = ()) -> Generator[socket.socket]:
    """A bare connection to a server with this script."""
    with (
        ScriptedModelServer(script) as server,
        socket.create_connection(address_of(server), timeout=60) as connection,
    ):
        yield connection


def names_of_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


async def test_two_hundred_requests_are_answered_at_the_same_time() -> None:
    gate, count = Gate(), 200
    limits = httpx2.Limits(max_connections=None)
    async with (
        ScriptedModelServer(lambda request: ScriptedReply(request.last_user, gate=gate)) as server,
        httpx2.AsyncClient(timeout=120, limits=limits) as client,
    ):

        async def ask(number: int) -> str:
            messages = [{"role": "user", "content": str(number)}]
            response = await client.post(
                f"{server.url}/chat/completions", json={"messages": messages}
            )
            return response.json()["choices"][0]["message"]["content"]

        asking = asyncio.gather(*(ask(number) for number in range(count)))
        await asyncio.to_thread(server.wait_for, requests=count, timeout_s=120)
        assert (server.running, server.peak_running) == (count, count)
        gate.open()
        assert await asking == [str(number) for number in range(count)]
        assert sorted(request.index for request in server.requests) == list(range(count))
        await asyncio.to_thread(server.wait_for, answered=count)
        assert (server.running, server.abandoned) == (0, 0)


def test_closing_ends_hanging_requests_and_the_thread() -> None:
    server = ScriptedModelServer(lambda _: Hang()).start()
    assert "scripted-model-server" in names_of_threads()
    connections = [http.client.HTTPConnection(*address_of(server)) for _ in range(20)]
    for connection in connections:
        connection.request("POST", CHAT, BODY, HEADERS)
    server.wait_for(requests=20)
    server.close()
    assert "scripted-model-server" not in names_of_threads()
    for connection in connections:
        with pytest.raises((ConnectionError, http.client.RemoteDisconnected)):
            connection.getresponse()
        connection.close()


def test_closing_drops_idle_and_half_told_connections() -> None:
    with ScriptedModelServer() as server:
        idle = socket.create_connection(address_of(server))
        half = socket.create_connection(address_of(server))
        half.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n")
        with socket.create_connection(address_of(server)) as asked:
            asked.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
            assert asked.recv(1000).startswith(b"HTTP/1.1 200 OK")
    with idle, half:
        pass
    assert "scripted-model-server" not in names_of_threads()


def test_closing_twice_is_fine_and_starting_twice_is_not() -> None:
    server = ScriptedModelServer()
    with server, pytest.raises(UsageError, match="runs already"):
        server.start()
    server.close()
    with pytest.raises(UsageError, match="not running"):
        _ = server.url


def test_a_taken_port_is_named() -> None:
    with ScriptedModelServer() as server:
        _, port = address_of(server)
        with pytest.raises(UsageError, match=f"Cannot listen on 127.0.0.1:{port}: .*port=0"):
            ScriptedModelServer(port=port).start()
    assert "scripted-model-server" not in names_of_threads()


def test_waiting_for_what_does_not_come_says_what_came(ask: Ask) -> None:
    with ScriptedModelServer(lambda _: "a") as server:
        ask(server)
        told = "for 2 requests, 0 answered and 1 abandoned; there were 1, "
        with pytest.raises(TimeoutError, match=told):
            server.wait_for(requests=2, abandoned=1, timeout_s=0.01)


def test_only_the_latest_requests_are_kept_when_asked(ask: Ask) -> None:
    with ScriptedModelServer(lambda _: "a", keep_requests=2) as server:
        for _ in range(3):
            ask(server)
        assert [request.index for request in server.requests] == [1, 2]


def test_a_connection_serves_many_requests() -> None:
    with ScriptedModelServer(lambda request: str(request.index)) as server:
        connection = http.client.HTTPConnection(*address_of(server))
        answers: list[str] = []
        for _ in range(3):
            connection.request("POST", CHAT, BODY, HEADERS)
            own = connection.sock.getsockname()
            body = json.loads(connection.getresponse().read())
            answers.append(body["choices"][0]["message"]["content"])
            assert connection.sock.getsockname() == own
        connection.close()
    assert answers == ["0", "1", "2"]


def test_requests_that_come_before_their_answers_are_answered_in_order() -> None:
    request = (
        f"POST {CHAT} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(BODY)}\r\n\r\n{BODY}"
    ).encode()
    with connected(lambda request: f"answer {request.index}") as connection:
        connection.sendall(request * 3)
        got = b""
        while got.count(b'"usage"') < 3:
            got += connection.recv(65_536)
    assert [got.index(f"answer {n}".encode()) for n in range(3)] == sorted(
        got.index(f"answer {n}".encode()) for n in range(3)
    )


def test_a_client_of_http_1_0_is_answered_and_let_go() -> None:
    with connected(["a"]) as connection:
        connection.sendall(
            f"POST {CHAT} HTTP/1.0\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(BODY)}\r\n\r\n{BODY}".encode()
        )
        got = b""
        while piece := connection.recv(65_536):
            got += piece
    assert got.startswith(b"HTTP/1.1 200 OK")
    assert b'"content": "a"' in got


def test_a_client_that_asks_before_sending_its_body_is_told_to_go_on() -> None:
    with connected(["a"]) as connection:
        connection.sendall(
            f"POST {CHAT} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            f"Expect: 100-continue\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")
        connection.sendall(BODY.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00\x01\x00", b"hello\r\n\r\n"])
def test_what_is_not_http_is_refused(sent: bytes) -> None:
    with connected() as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1000).startswith(b"HTTP/1.1 400 Bad Request")


def test_a_long_prompt_is_read_whole(ask: Ask) -> None:
    with ScriptedModelServer(lambda request: request.last_user[-3:]) as server:
        response = ask(server, "x" * 900_000 + "end")
    assert response.json()["choices"][0]["message"]["content"] == "end"


def run_command(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "agentworld_sim.llm.scripted", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_the_command_prints_its_url_and_ends_at_a_signal(
    client: httpx2.Client, signum: signal.Signals
) -> None:
    with run_command(
        "--reply",
        "$ ",
        "--observation",
        "--thinking",
        "hm",
        "--require-key",
        AGENTWORLD_API_KEY="k",
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        url = process.stdout.readline().strip()
        headers = {"Authorization": "Bearer k"}
        body: dict[str, Any] = {"messages": MESSAGES}
        refused = client.post(f"{url}/chat/completions", json=body)
        answer = client.post(f"{url}/chat/completions", json=body, headers=headers).json()
        process.send_signal(signum)
        assert (process.wait(60), process.stderr.read()) == (0, "")
    assert refused.status_code == 401
    message = answer["choices"][0]["message"]
    assert message["content"] == "<predicted_observation>\n$ \n</predicted_observation>"
    assert message["reasoning"] == "hm"


def test_the_command_says_that_a_key_is_missing() -> None:
    with run_command("--require-key", AGENTWORLD_API_KEY="") as process:
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--require-key was given, but AGENTWORLD_API_KEY is not set." in complaint
