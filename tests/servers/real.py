"""The real servers: where `make test-servers` puts them, and how each is started."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from mcp import Client, StdioServerParameters

SERVERS = Path(__file__).resolve().parents[2] / "build" / "servers"
NPM = SERVERS / "node_modules"
PYTHON = SERVERS / "venv" / "bin"
OLD_PYTHON = SERVERS / "venv-old-sdk" / "bin"

NAMES = ("filesystem", "memory", "everything", "playwright", "time", "sqlite", "git", "fetch")


@dataclass(frozen=True)
class RealServer:
    """A command line, and the environment that it needs beside the usual."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def client(self) -> Client:
        """A client that starts it and talks to it."""
        return Client(
            StdioServerParameters(
                command=self.command[0],
                args=self.command[1:],
                env={"PATH": os.environ["PATH"], "TZ": "UTC", **self.environment},
            )
        )


def real_server(name: str, folder: Path) -> RealServer:
    """One of the servers.

    Args:
        name: One of `NAMES`.
        folder: An existing folder of its own; what it works on lies there.
    """

    def node(script: str, *arguments: str, **environment: str) -> RealServer:
        return RealServer(["node", str(NPM / script), *arguments], environment)

    match name:
        case "filesystem":
            return node("@modelcontextprotocol/server-filesystem/dist/index.js", str(folder))
        case "memory":
            path = str(folder / "memory.jsonl")
            return node("@modelcontextprotocol/server-memory/dist/index.js", MEMORY_FILE_PATH=path)
        case "everything":
            return node("@modelcontextprotocol/server-everything/dist/index.js")
        case "playwright":
            return node("@playwright/mcp/cli.js", "--headless", "--isolated")
        case "time":
            return RealServer([str(PYTHON / "mcp-server-time"), "--local-timezone", "UTC"])
        case "sqlite":
            # It makes the file when it is started; here it is there before.
            (folder / "data.db").touch()
            path = str(folder / "data.db")
            return RealServer([str(OLD_PYTHON / "mcp-server-sqlite"), "--db-path", path])
        case "git":
            return RealServer([str(PYTHON / "mcp-server-git"), "--repository", str(folder)])
        case "fetch":
            return RealServer([str(PYTHON / "mcp-server-fetch")])
        case _:
            raise ValueError(f"there is no server {name!r}")
