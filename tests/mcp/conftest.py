"""The shim as users run it, in front of a real server, spoken to by the SDK.

Most tests run the command in a thread of this process (`in_process`), which costs a hundredth of a process.
`started` and `processed` are a process of their own: for what only a process has.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from mcp import Client, StdioServerParameters
from tests.mcp import in_process
from tests.mcp.in_process import SECONDS, linked, transport

DATA = Path(__file__).parents[1] / "data"
SCENARIO = str(DATA / "mcp_terminal.yaml")
HANDSHAKE: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


class Shim:
    """Starts `agentworld mcp` with a home folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("AGENTWORLD_")},
            "AGENTWORLD_HOME": str(self.home),
            "MARKS": str(self.marks),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    @property
    def store(self) -> Path:
        """Its store's file."""
        return self.home / "worlds.sqlite"

    def called_for_real(self) -> list[str]:
        """Tools of `mcp_upstream.py` whose body ran."""
        return sorted(path.name for path in self.marks.iterdir())

    def command(self, *arguments: str) -> list[str]:
        """The shim's command line, with a small scenario."""
        chosen = [] if "--scenario" in arguments else ["--scenario", SCENARIO]
        return [sys.executable, "-m", "agentworld_mcp_shim", *chosen, *arguments]

    def arguments(self, *arguments: str) -> list[str]:
        """The arguments of `agentworld mcp`."""
        return self.command(*arguments)[3:]

    @asynccontextmanager
    async def client(
        self, *arguments: str, mode: str = "auto", **options: Any
    ) -> AsyncGenerator[Client]:
        """The official client, connected to the shim."""
        streams = transport(self.arguments(*arguments), self.environment)
        async with (
            asyncio.timeout(SECONDS),
            Client(streams, mode=mode, cache=None, **options) as client,
        ):
            yield client

    @asynccontextmanager
    async def connected(self, command: Sequence[str], mode: str = "auto") -> AsyncGenerator[Client]:
        """The official client, connected to any server over stdio."""
        parameters = StdioServerParameters(
            command=command[0], args=list(command[1:]), env=self.environment
        )
        async with asyncio.timeout(SECONDS), Client(parameters, mode=mode, cache=None) as client:
            yield client

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs it to its end; the client leaves at once."""
        words = self.arguments(*arguments)
        return subprocess.CompletedProcess(words, *in_process.run(words, self.environment))

    def processed(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As `run`, but as a process."""
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=SECONDS,
            check=False,
        )

    @contextmanager
    def started(self, *arguments: str) -> Generator[Pipes]:
        """Runs it with pipes in the test's hands, after the handshake."""
        with subprocess.Popen(
            self.command("-v", *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        ) as process:
            try:
                pipes = Pipes(process)
                for message in HANDSHAKE:
                    pipes.send(message)
                assert pipes.receive()["id"] == 0
                yield pipes
            finally:
                process.kill()


class Pipes:
    """A running shim and its streams."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def send(self, message: object) -> None:
        """Sends one message."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def call(self, number: int, name: str, **arguments: Any) -> None:
        """Sends one tool call."""
        params = {"name": name, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def receive(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        return cast("dict[str, Any]", json.loads(self.process.stdout.readline()))

    def logged(self, text: str) -> None:
        """Waits for a line on standard error that has `text`."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if text in line:
                return
        pytest.fail(f"the shim ended and never logged {text!r}")

    def ended(self) -> tuple[int, str]:
        """Waits for its end: the exit code, and what it wrote last to standard error."""
        _, said = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, said


class Wire:
    """A server spoken to without an SDK, in one of the two protocol eras."""

    def __init__(
        self, put: Callable[[str], object], get: Callable[[], str | None], era: str
    ) -> None:
        """
        Args:
            put: Sends a line.
            get: Waits for the server's next line; empty or `None` at its end.
            era: `legacy` or `modern`.
        """
        self.era = era
        self._put = put
        self._get = get
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The response to one request: its `result` or its `error`, as it came."""
        number = self.send(method, **params)
        while True:
            message = self.receive()
            if message.get("id") == number:
                return {key: message[key] for key in ("result", "error") if key in message}

    def send(self, method: str, **params: Any) -> int:
        """Sends one request; its number."""
        self._number += 1
        if self.era == "modern":
            params["_meta"] = {
                **params.get("_meta", {}),
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        self._send({"id": self._number, "method": method, "params": params})
        return self._number

    def receive(self) -> dict[str, Any]:
        """The next message."""
        line = self._get()
        if not line:
            pytest.fail("the server ended before it answered")
        return cast("dict[str, Any]", json.loads(line))

    def greet(self) -> dict[str, Any]:
        """Begins as this era does; what the server says of itself."""
        if self.era == "modern":
            return self.ask("server/discover")
        said = self.ask("initialize", **{**HANDSHAKE[0]["params"], "protocolVersion": "2025-11-25"})
        self._send({"method": "notifications/initialized"})
        return said

    def pages(self, method: str) -> list[dict[str, Any]]:
        """Every page of a list, each fetched with the cursor of the one before."""
        pages = [self.ask(method)]
        while cursor := pages[-1].get("result", {}).get("nextCursor"):
            pages.append(self.ask(method, cursor=cursor))
        return pages

    def _send(self, message: dict[str, Any]) -> None:
        self._put(json.dumps({"jsonrpc": "2.0", **message}))


@contextmanager
def wired(command: Sequence[str], era: str, environment: dict[str, str]) -> Generator[Wire]:
    """Starts a server as a process and connects a `Wire` with it."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None and stdout is not None

        def put(line: str) -> None:
            stdin.write(line + "\n")
            stdin.flush()

        try:
            yield Wire(put, stdout.readline, era)
        finally:
            process.kill()


class Everything:
    """The server of `mcp_full_upstream.py`, and how a test reaches it."""

    def __init__(self, shim: Shim) -> None:
        self._shim = shim

    def command(self, era: str = "legacy", case: str = "") -> list[str]:
        """What starts it over stdio."""
        return [sys.executable, str(DATA / "mcp_full_upstream.py"), era, case]

    @contextmanager
    def over_http(self, era: str, **environment: str) -> Generator[str]:
        """Starts it behind a URL."""
        with subprocess.Popen(
            [*self.command(era), "0"],
            stderr=subprocess.PIPE,
            text=True,
            env={**self._shim.environment, **environment},
        ) as process:
            assert process.stderr is not None
            try:
                yield f"http://127.0.0.1:{int(process.stderr.readline())}/mcp"
            finally:
                process.kill()

    def snapshot(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs `agentworld mcp snapshot`."""
        words = ["snapshot", *arguments]
        done = in_process.run(words, {**self._shim.environment, **environment})
        return subprocess.CompletedProcess(words, *done)

    @contextmanager
    def direct(self, era: str) -> Generator[Wire]:
        """Connected without a shim."""
        with wired(self.command(era), era, self._shim.environment) as wire:
            yield wire

    @contextmanager
    def shown(self, era: str, *arguments: str) -> Generator[Wire]:
        """Connected through a shim."""
        words = self._shim.arguments("--memory", *arguments)
        with linked(words, self._shim.environment) as (link, said):
            yield Wire(link.put, lambda: said.get(timeout=SECONDS), era)


@pytest.fixture
def everything(shim: Shim) -> Everything:
    return Everything(shim)


@pytest.fixture
def shim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shim:
    in_process.in_process(monkeypatch)
    return Shim(tmp_path)


@pytest.fixture
def upstream() -> list[str]:
    """The command of a server that really does what it is asked."""
    return ["--", sys.executable, str(DATA / "mcp_upstream.py")]


@pytest.fixture
def raw_upstream() -> list[str]:
    """The command of a server without an SDK; its case and number are to be added."""
    return ["--", sys.executable, str(DATA / "mcp_raw_upstream.py")]


@pytest.fixture
def shell(raw_upstream: list[str]) -> list[str]:
    """The command of a server with one tool, `bash`, that starts fast."""
    return [*raw_upstream, "one"]
