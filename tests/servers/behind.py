"""A real server behind the shim, watched: what is sent to it is written down."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from tests.servers.real import RealServer, real_server

SECONDS = 120.0
"""No test may hang; none comes near this."""

Source = Literal["live", "snapshot"]

_WATCHED = 'tee -a "$0" | "$@"'
"""Writes down what a server is sent."""


class Behind:
    """Puts `agentworld mcp` in front of real servers, with a home folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "files"
        self.folder.mkdir()
        self._sent = folder / "sent.jsonl"
        self._snapshot = folder / "snapshot.json"
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("AGENTWORLD_")},
            "AGENTWORLD_HOME": str(folder / "home"),
            "TZ": "UTC",
        }

    def server(self, name: str) -> RealServer:
        """The real server, on this folder. A repository is made where one is needed."""
        if name == "git" and not (self.folder / ".git").exists():
            (self.folder / "file.txt").write_text("content\n")
            for words in (
                ["init", "-q", "-b", "main"],
                ["add", "."],
                ["-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "-qm", "first"],
            ):
                subprocess.run(["git", "-C", str(self.folder), *words], check=True, timeout=60)
        return real_server(name, self.folder)

    @asynccontextmanager
    async def direct(self, name: str) -> AsyncGenerator[Client]:
        """The real server itself."""
        async with asyncio.timeout(SECONDS), self.server(name).client() as client:
            yield client

    @asynccontextmanager
    async def shown(
        self, name: str, source: Source, *options: str, mode: str = "auto", **scenario: Any
    ) -> AsyncGenerator[Client]:
        """The shim in front of it.

        Args:
            name: Of the real server.
            source: Whether it is started for its list, or a snapshot of it is shown.
            options: For `agentworld mcp`.
            mode: Which era the client speaks, as the SDK names them.
            scenario: What the world begins with.
        """
        content = {"name": "behind", "domains": ["mcp"], **scenario}
        path = self.folder.with_name("scenario.json")
        path.write_text(json.dumps(content), encoding="utf-8")
        shim = [sys.executable, "-m", "agentworld_mcp_shim"]
        server = self.server(name)
        upstream = ["sh", "-c", _WATCHED, str(self._sent), *server.command]
        environment = {**self._environment, **server.environment}
        if source == "snapshot":
            command = [*shim, "snapshot", "-o", str(self._snapshot), "--", *upstream]
            taking = await asyncio.create_subprocess_exec(*command, env=environment)
            assert await asyncio.wait_for(taking.wait(), SECONDS) == 0
            chosen = ["--snapshot", str(self._snapshot)]
        else:
            chosen = ["--", *upstream]
        parameters = StdioServerParameters(
            command=shim[0],
            args=[*shim[1:], "--scenario", str(path), *options, *chosen],
            env=environment,
        )
        async with asyncio.timeout(SECONDS), Client(parameters, mode=mode, cache=None) as client:
            yield client

    def sent(self) -> list[str]:
        """The methods of all that was sent to the real server."""
        lines = self._sent.read_text(encoding="utf-8").splitlines()
        return [json.loads(line).get("method", "") for line in lines]

    def fingerprint(self) -> dict[str, str]:
        """What lies in the server's folder: a hash by path."""
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.folder.rglob("*"))
            if path.is_file()
        }
