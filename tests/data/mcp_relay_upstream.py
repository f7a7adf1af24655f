"""An MCP server that uses all that a server may: it asks, tells, draws, waits, and dies when told to.

It leaves marks in `$MARKS`: what was called, what was cancelled, and over HTTP the headers it was sent.
`--http` lets it listen on a free port, which it prints.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (
    AudioContent,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)
from pydantic import BaseModel

server = MCPServer("relay", version="1.2.3")
MARKS = Path(os.environ["MARKS"])


def mark(name: str) -> None:
    """Leaves a mark. Where there is a pipe of that name, somebody waits for it."""
    (MARKS / name).touch()
    pipe = MARKS / f"{name}.pipe"
    if pipe.exists():
        pipe.write_text("now")


class Answer(BaseModel):
    """What a person is asked for."""

    colour: str


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """Gives one block of each kind."""
    mark("picture")
    return [
        TextContent(type="text", text="look", _meta={"own/key": 1}),
        ImageContent(type="image", data="iVBORw0KGgo=", mime_type="image/png"),
        AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
        EmbeddedResource(
            type="resource",
            resource=TextResourceContents(uri="note://1", text="hello", mime_type="text/plain"),
        ),
    ]


@server.tool()
async def ask(question: str, ctx: Context[Any, Any]) -> str:
    """Asks the person."""
    answered = await ctx.elicit(question, Answer)
    return answered.data.colour if answered.action == "accept" else answered.action


@server.tool()
async def work(steps: int, ctx: Context[Any, Any]) -> str:
    """Tells how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "done"


@server.tool()
async def wait() -> str:
    """Never answers."""
    mark("waiting")
    try:
        await asyncio.sleep(3600)
    finally:
        mark("cancelled")
    return "never"


@server.tool()
def secret(password: str) -> str:
    """Says a secret."""
    return f"the password is {password}"


@server.tool()
def die() -> str:
    """Ends the process."""
    os._exit(3)


@server.tool()
def count() -> int:
    """Differs each time within one process."""
    global _count
    _count += 1
    return _count


@server.tool()
def never() -> str:
    """Must not be called."""
    mark("never")
    return "called"


@server.resource("note://1")
def note() -> str:
    """A note."""
    mark("note")
    return "really"


_count = 0


def _with_headers(app: Any) -> Any:
    async def recording(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {key.decode(): value.decode() for key, value in scope["headers"]}
            with (MARKS / "headers").open("a") as file:
                file.write(json.dumps(headers) + "\n")
        await app(scope, receive, send)

    return recording


if __name__ == "__main__":
    if "--http" in sys.argv:
        import uvicorn

        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        print(listening.getsockname()[1], flush=True)
        app = _with_headers(server.streamable_http_app())
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])
    else:
        server.run()
