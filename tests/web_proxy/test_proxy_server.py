"""The proxy before a world's internet, over real connections."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim import ToolCall, UsageError, World
from agentworld_sim.assembly import internet_of
from agentworld_sim.engines.web import WebRequest, WebResponse
from agentworld_sim.errors import WorldFailure
from agentworld_sim.llm.scripted import ScriptedModelServer, ScriptedReply
from agentworld_sim.scenario import Scenario
from agentworld_sim.toolkits import toolkit
from agentworld_sim.web_proxy import HostCertificates, WorldInternet, ready_lines, web_proxy
from agentworld_sim.web_proxy.proxy_server import MOST_BODY, MOST_HEAD
from tests.properties import examples
from tests.sites.small_site import NOTES

HOSTS = ("echo.test", "notes.test")
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


async def echo(request: WebRequest) -> WebResponse | None:
    """Says what it was asked."""
    if request.host.partition(":")[0] != "echo.test":
        return None
    if request.path == "/down":
        raise WorldFailure("the store is gone")
    if request.path == "/injected":
        return WebResponse(headers=(("x-name", "a\r\nset-cookie: b"),))
    if request.path == "/empty":
        return WebResponse(204, headers=())
    told = f"{request.method} {request.url} {len(request.body)}"
    return WebResponse(body=told.encode(), headers=(("content-type", "text/plain"),))


class Client:
    """One connection to the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, text: str | bytes, *, is_head: bool = False) -> Reply:
        self.writer.write(text.encode("latin-1") if isinstance(text, str) else text)
        return await self.read(is_head=is_head)

    async def read(self, *, is_head: bool = False) -> Reply:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        length = 0 if is_head else int(headers.get("content-length", 0))
        return Reply(int(head[0].split()[1]), headers, await self.reader.readexactly(length))

    async def get(self, url: str, method: str = "GET", more: str = "") -> Reply:
        text = f"{method} {url} HTTP/1.1\r\nHost: x.test\r\n{more}\r\n"
        return await self.send(text, is_head=method == "HEAD")


@asynccontextmanager
async def connected(answer: Any = echo, **options: Any) -> AsyncGenerator[Client]:
    async with web_proxy(answer, **options) as url, client_of(url) as client:
        yield client


@asynccontextmanager
async def client_of(url: str) -> AsyncGenerator[Client]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


async def test_requests_of_one_connection_are_answered_in_turn() -> None:
    async with connected() as client:
        assert (
            await client.get("http://echo.test/a?b=1#c")
        ).body == b"GET http://echo.test/a?b=1 0"
        chunks = "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n"
        reply = await client.get("http://ECHO.test:80/p", "POST", chunks)
        assert reply.body == b"POST http://echo.test/p 5"
        reply = await client.get("http://echo.test/a", "HEAD")
        assert (reply.status, reply.body, reply.headers["content-length"]) == (200, b"", "25")
        assert (await client.get("http://echo.test/empty")).headers.keys() == set()
        reply = await client.send("GET /of-the-host HTTP/1.1\r\nHost: echo.test\r\n\r\n")
        assert reply.body == b"GET http://echo.test/of-the-host 0"


async def test_a_client_that_waits_is_told_to_go_on_or_that_it_is_too_much() -> None:
    async with connected() as client:
        waits = "Expect: 100-continue\r\nContent-Length: "
        assert (await client.get("http://echo.test/", "POST", f"{waits}3\r\n")).status == 100
        assert (await client.send("abc")).body == b"POST http://echo.test/ 3"
        reply = await client.get("http://echo.test/", "POST", f"{waits}{MOST_BODY + 1}\r\n")
        assert (reply.status, reply.headers["connection"]) == (413, "close")


async def test_what_is_too_large_is_read_and_refused() -> None:
    async with connected() as client:
        head = (
            f"POST http://echo.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: {MOST_BODY + 1}\r\n\r\n"
        )
        assert (await client.send(head.encode() + bytes(MOST_BODY + 1))).status == 413
    async with connected() as client:
        reply = await client.get("http://echo.test/", more=f"X: {'a' * 4 * MOST_HEAD}\r\n")
        assert reply.status == 431


@pytest.mark.parametrize(
    "text",
    [
        "NONSENSE\r\n\r\n",
        "GET http://echo.test/ HTTP/1.1\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: echo.test\r\n\r\n",
        "GET http://[ HTTP/1.1\r\nHost: echo.test\r\n\r\n",
        "GET ftp://echo.test/ HTTP/1.1\r\nHost: echo.test\r\n\r\n",
        "GET http://echo.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        "GET http://echo.test/ HTTP/1.1\r\nHost: a\r\nbad header\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_refused(text: str) -> None:
    async with connected() as client:
        assert (await client.send(text)).status == 400


async def test_a_header_that_a_site_may_not_write_fails_the_request() -> None:
    async with connected() as client:
        assert (await client.get("http://echo.test/injected")).status == 500
        assert (await client.get("http://echo.test/")).status == 200


async def test_a_world_that_fails_is_a_gateway_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as client:
        reply = await client.get("http://echo.test/down?password=secret")
        assert (reply.status, reply.body) == (502, b"Bad Gateway\n")
    assert caplog.messages == ["GET http://echo.test/down: the store is gone"]


async def test_nothing_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected() as client:

        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("a name was looked up, or a connection opened")

        for name in ("getaddrinfo", "gethostbyname", "create_connection"):
            monkeypatch.setattr(socket, name, refuse)
        loop = asyncio.get_running_loop()
        for name in ("getaddrinfo", "create_connection", "sock_connect"):
            monkeypatch.setattr(loop, name, refuse)
        for url in ("http://example.com/", "http://127.0.0.1:1/", "http://169.254.169.254/"):
            reply = await client.get(url)
            assert reply.status == 502
            assert reply.body.startswith(b"Could not resolve host: ")
        reply = await client.get("example.com:443", "CONNECT")
        assert (reply.status, reply.body) == (502, b"Could not resolve host: example.com\n")


async def test_without_https_a_known_host_says_so_and_a_plain_tunnel_stands() -> None:
    async with connected() as client:
        reply = await client.get("echo.test:443", "CONNECT")
        assert reply.status == 502
        assert reply.body.startswith(b"No HTTPS here: start `agentworld web` with --https")
    async with connected() as client:
        assert (await client.get("echo.test:80", "CONNECT")).status == 200
        assert (await client.get("/in")).body == b"GET http://echo.test/in 0"


async def test_https_is_for_the_hosts_of_the_world_alone(tmp_path: Path) -> None:
    certificates = HostCertificates(HOSTS, tmp_path)
    trusting = ssl.create_default_context(cafile=str(certificates.authority))
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    async with web_proxy(echo, secure_hosts=HOSTS, context=certificates.context) as url:
        async with client_of(url) as client:
            assert (await client.get("Echo.test:443", "CONNECT")).status == 200
            await client.writer.start_tls(trusting, server_hostname="echo.test")
            assert (await client.get("/a")).body == b"GET https://echo.test/a 0"
            assert (await client.get("/b")).body == b"GET https://echo.test/b 0"
        async with client_of(url) as client:
            assert (await client.get("other.test:443", "CONNECT")).status == 502


def test_the_authority_keeps_no_key_and_permits_no_other_host(tmp_path: Path) -> None:
    from cryptography import x509

    certificates = HostCertificates(("a.test", "b.test", "no host"), tmp_path)
    authority = x509.load_pem_x509_certificate(certificates.authority.read_bytes())
    limits = authority.extensions.get_extension_for_class(x509.NameConstraints)
    permitted = [one.value for one in limits.value.permitted_subtrees or ()]
    assert (limits.critical, permitted[:2]) == (True, ["a.test", "b.test"])
    assert b"PRIVATE KEY" not in certificates.authority.read_bytes()
    assert [one.name for one in tmp_path.iterdir()] == ["authority.pem"]


async def test_a_hundred_connections_at_once() -> None:
    async with web_proxy(echo) as url:

        async def ask(number: int) -> bytes:
            async with client_of(url) as client:
                return (await client.get(f"http://echo.test/{number}")).body

        bodies = await asyncio.gather(*map(ask, range(100)))
    assert bodies == [f"GET http://echo.test/{number} 0".encode() for number in range(100)]


async def test_the_proxy_ends_while_somebody_is_connected_and_the_port_is_free_again() -> None:
    async with web_proxy(echo) as url, client_of(url) as client:
        await client.get("http://echo.test/")
        port = urlsplit(url).port
        assert port is not None
        with pytest.raises(UsageError, match=f"--port {port} cannot be listened on"):
            async with web_proxy(echo, port=port):
                pass
    async with web_proxy(echo, port=port):
        pass


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=200), st.booleans())
async def test_any_bytes_are_answered_or_hung_up_on(content: bytes, is_request: bool) -> None:
    async with connected() as client:
        head = b"POST http://echo.test/ HTTP/1.1\r\nHost: a\r\n" if is_request else b""
        client.writer.write(head + content)
        client.writer.write_eof()
        answered = await client.reader.read()
    assert answered[:9] in (b"", b"HTTP/1.1 ")


# Worlds


async def test_only_what_changes_the_state_is_a_turn(tmp_path: Path) -> None:
    world = await world_of(tmp_path)
    internet = internet_of(world.scenario)
    assert internet is not None
    site = WorldInternet(world, internet)
    assert await site.hosts() == ["notes.test"]
    async with connected(site.answer) as client:
        root = world.ref
        assert (await client.get("http://notes.test/")).status == 200
        assert (await client.get("http://notes.test/login", "HEAD")).body == b""
        assert (await client.get("http://notes.test/nothing")).status == 404
        wrong = await post(client, "/login", "name=ada&password=wrong")
        assert (wrong.status, world.ref) == (422, root)
        right = await post(client, "/login", "name=ada&password=engine", key="sk-secret")
        assert (right.status, right.headers["location"]) == (302, "/")
        cookie = right.headers["set-cookie"].partition(";")[0]
        page = await client.get("http://notes.test/new", more=f"Cookie: {cookie}\r\n")
        assert page.status == 200
    (turn,) = await world.trajectory()
    assert turn.call.name == "http_request"
    assert "sk-secret" not in str(turn.to_json())
    again = await World.open(world.id, store=world.store)
    assert await again.state() == await world.state()


async def test_a_control_that_answers_for_a_site_is_a_service_that_fails(tmp_path: Path) -> None:
    fault = {"kind": "fault", "name": "down", "tool": "http_request", "error": "Out of order."}
    world = await world_of(tmp_path, controls=[fault])
    internet = internet_of(world.scenario)
    assert internet is not None
    async with connected(WorldInternet(world, internet).answer) as client:
        reply = await post(client, "/login", "name=ada&password=engine")
        assert (reply.status, reply.body) == (503, b"Out of order.")


PAGE: dict[str, Any] = {
    "status": 200,
    "url": "http://paper.test/",
    "html": "<title>Paper</title><p>Rain.",
}


async def test_a_page_that_no_site_has_is_imagined_once_where_there_is_a_model(
    tmp_path: Path,
) -> None:
    asks = "Accept: text/html\r\n"
    with ScriptedModelServer([ScriptedReply.observation(json.dumps(PAGE))]) as server:
        world = await world_of(tmp_path, model=server.url)
        world.add_tools([one for one in toolkit("claude-code") if one.name == "Bash"])
        world.add_tools(toolkit("playwright-mcp"))
        internet = internet_of(world.scenario)
        assert internet is not None
        async with connected(WorldInternet(world, internet).answer) as client:
            # What a browser asks for in the background is no page.
            assert (await client.get("http://paper.test/")).status == 502
            first = await client.get("http://paper.test/", more=asks)
            again = await client.get("http://paper.test/", more=asks)
        assert (first.status, first.body) == (200, PAGE["html"].encode())
        assert (again.status, again.body, len(server.requests)) == (200, first.body, 1)
        (turn,) = (await world.trajectory()).turns
        assert (turn.call.name, turn.observation.provenance) == ("http_request", "imagined")
        seen = await world.step(ToolCall("browser_navigate", {"url": "http://paper.test/"}))
        assert "Page Title: Paper" in seen.observation.text
        told = await world.step(ToolCall("Bash", {"command": "curl -s http://paper.test/"}))
        assert (told.observation.text, len(server.requests)) == (PAGE["html"], 1)
        await world.close()


async def test_without_a_model_an_unknown_host_is_refused_at_once(tmp_path: Path) -> None:
    world = await world_of(tmp_path)
    internet = internet_of(world.scenario)
    assert internet is not None
    root = world.ref
    async with connected(WorldInternet(world, internet).answer) as client:
        reply = await client.get("http://paper.test/", more="Accept: text/html\r\n")
    assert (reply.status, world.ref) == (502, root)


def test_the_lines_that_lead_clients(tmp_path: Path) -> None:
    url = "http://127.0.0.1:1"
    plain = ready_lines(url, list(HOSTS), None)
    assert plain[0] == "hosts: echo.test, notes.test"
    assert plain[1].endswith(f"--proxy-server={url} http://echo.test/")
    assert "CURL_CA_BUNDLE" not in plain[3]
    certificates = HostCertificates(HOSTS, tmp_path)
    secure = ready_lines(url, [*HOSTS * 5], certificates)
    assert secure[0].endswith(" and 2 more")
    assert certificates.key_hash in secure[1]
    assert secure[2].endswith("--ignore-https-errors")
    assert f"SSL_CERT_FILE={certificates.authority}" in secure[3]


async def world_of(folder: Path, *, model: str | None = None, **more: Any) -> World:
    (folder / "notes.yaml").write_text(json.dumps(NOTES))
    (folder / "s.yaml").write_text(
        json.dumps({"name": "s", "domains": ["web"], "sites": [{"file": "notes.yaml"}], **more})
    )
    return await World.create(Scenario.load(str(folder / "s.yaml")), model=model)


async def post(client: Client, path: str, form: str, key: str = "") -> Reply:
    more = f"{FORM}Authorization: Bearer {key}\r\nContent-Length: {len(form)}\r\n\r\n{form}"
    head = f"POST http://notes.test{path} HTTP/1.1\r\nHost: notes.test\r\n"
    return await client.send(head + more)
