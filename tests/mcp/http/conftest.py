"""The shim over HTTP as users run it: processes of its own, spoken to over real sockets."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from tests.mcp.in_process import HttpServer

if TYPE_CHECKING:
    from tests.mcp.conftest import Shim

SECONDS = 60.0
"""No test may hang; none comes near this."""

TOKENS = {"alice": "alice-has-this-token-0001", "bob": "bob-has-this-token-00002"}

VERSION = "2025-11-25"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

Serve = Callable[..., "Served"]


class Served:
    """A running shim."""

    def __init__(self, process: subprocess.Popen[str] | HttpServer, log: Path, said: str) -> None:
        self.process = process
        self.log = log
        self.said = said
        """What it says when it is ready."""
        self.base = said.split(" ")[2].removesuffix("/mcp;").removesuffix("/mcp,")

    @asynccontextmanager
    async def client(
        self,
        mode: str = "auto",
        *,
        path: str = "/mcp",
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        anywhere: bool = False,
    ) -> AsyncGenerator[Client]:
        """The official client; `anywhere` connects it to any process, whatever world it is about."""
        given = dict(headers or {})
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        async with asyncio.timeout(SECONDS), httpx2.AsyncClient(timeout=SECONDS) as http:
            if anywhere:
                await http.get(f"{self.base}/healthz")
            http.headers.update(given)
            streams = streamable_http_client(self.base + path, http_client=http)
            async with Client(streams, mode=mode, cache=None) as client:
                yield client

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        """One plain request."""
        return httpx2.get(self.base + path, headers=dict(headers or {}), timeout=SECONDS)

    def post(
        self,
        message: Any,
        headers: Mapping[str, str] | None = None,
        *,
        path: str = "/mcp",
    ) -> httpx2.Response:
        """One message, or bytes, as they are."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        given = {**ACCEPT, **(headers or {})}
        return httpx2.post(self.base + path, content=content, headers=given, timeout=SECONDS)

    def begin(self, headers: Mapping[str, str] | None = None) -> str:
        """Begins a session of the older protocol; gives its id."""
        answer = self.post(initialize(), headers)
        assert answer.status_code == 200, answer.text
        return answer.headers["mcp-session-id"]

    def ended(self) -> tuple[int, str]:
        """Waits for its end: the exit code, and all it said."""
        code = self.process.wait(SECONDS)
        return code, self.log.read_text(encoding="utf-8")


def initialize() -> dict[str, Any]:
    """The first message of a session."""
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}


def calling(command: str, number: int = 1) -> dict[str, Any]:
    """A tool call of the older protocol."""
    params = {"name": "bash", "arguments": {"command": command}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def said(client: Client, command: str, *, meta: dict[str, Any] | None = None) -> str:
    """What the shell of the client's world says."""
    result = await client.call_tool("bash", {"command": command}, meta=cast("Any", meta))
    assert not result.is_error, result
    return "".join(getattr(block, "text", "") for block in result.content)


async def world_of(client: Client) -> str:
    """The id of the client's world, as results tell it."""
    result = await client.call_tool("bash", {"command": "true"})
    assert result.meta is not None
    return result.meta["agentworld/simulated"]["world"]


@contextmanager
def started(command: list[str], environment: Mapping[str, str], log: Path) -> Generator[Served]:
    """Runs the shim as a process until the block ends."""
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, stderr=file, env=environment, text=True) as process,
    ):
        yield from _served(process, log)


@contextmanager
def threaded(command: list[str], environment: Mapping[str, str], log: Path) -> Generator[Served]:
    """Runs the shim in a thread until the block ends."""
    with log.open("w", encoding="utf-8", buffering=1) as file:
        yield from _served(HttpServer(command[3:], environment, file), log)


def _served(process: subprocess.Popen[str] | HttpServer, log: Path) -> Generator[Served]:
    try:
        yield Served(process, log, _ready(process, log))
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            assert isinstance(process, subprocess.Popen)
            process.kill()


def _ready(process: subprocess.Popen[str] | HttpServer, log: Path) -> str:
    """Waits for the line that says where it listens."""
    with log.open(encoding="utf-8") as file:
        while True:
            over = process.poll() is not None
            while line := file.readline():
                if line.startswith("agentworld: serving "):
                    return line.rstrip()
            if over:
                pytest.fail(f"it ended with {process.poll()}: {log.read_text(encoding='utf-8')}")
            time.sleep(0.005)


@pytest.fixture
def serve(shim: Shim, tmp_path: Path) -> Generator[Serve]:
    """Starts the shim in front of a server with one tool, `bash`: in a thread, or as processes."""
    upstream = [sys.executable, str(Path(__file__).parents[2] / "data" / "mcp_raw_upstream.py")]
    with ExitStack() as stack:

        def start(
            *arguments: str,
            environment: Mapping[str, str] | None = None,
            own: bool = False,
            process: bool = False,
        ) -> Served:
            behind = [] if own else ["--", *upstream, "one"]
            command = shim.command("--http", "0", *arguments, *behind)
            log = tmp_path / f"log-{len(list(tmp_path.glob('log-*')))}"
            given = {**shim.environment, **(environment or {})}
            run = started if process or "--workers" in arguments else threaded
            return stack.enter_context(run(command, given, log))

        yield start


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A token for each of `TOKENS`."""
    file = tmp_path / "tokens"
    file.write_text("".join(f"{who} {token}\n" for who, token in TOKENS.items()), encoding="utf-8")
    file.chmod(0o600)
    return file
