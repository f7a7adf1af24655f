"""An MCP server of the official SDK that really does things: each call leaves a mark in `$MARKS`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import Icon, ToolAnnotations
from pydantic import BaseModel

server = MCPServer(
    "really-does-it",
    version="7.8.9",
    title="Really",
    instructions="Use with care.",
    website_url="https://really.example",
    icons=[Icon(src="https://really.example/i.png", mime_type="image/png")],
)


class Report(BaseModel):
    """A form that no text fits."""

    lines: int
    ok: bool


def mark(tool: str) -> None:
    """Tells the test that this server was called for real."""
    (Path(os.environ["MARKS"]) / tool).touch()


@server.tool(
    title="A shell",
    annotations=ToolAnnotations(destructive_hint=True, open_world_hint=False),
    icons=[Icon(src="https://really.example/bash.png")],
    meta={"really.example/kind": "shell"},
)
def bash(command: str) -> str:
    """Runs a command.

    It really does.
    """
    mark("bash")
    return subprocess.check_output(command, shell=True, text=True)


@server.tool()
def read_file(file_path: str, offset: int = 0, limit: int = 2000) -> str:
    """Reads a file."""
    mark("read_file")
    return Path(file_path).read_text()


@server.tool()
def write_file(file_path: str, content: str) -> str:
    """Writes a file."""
    mark("write_file")
    Path(file_path).write_text(content)
    return "ok"


@server.tool()
def run_it(command: str) -> str:
    """A shell under a name that nobody knows."""
    mark("run_it")
    return subprocess.check_output(command, shell=True, text=True)


@server.tool()
def inspect(command: str) -> Report:
    """A shell that answers in a form of its own."""
    mark("inspect")
    return Report(lines=len(command), ok=True)


@server.tool(structured_output=False)
def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    mark("send_mail")
    return "sent"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
