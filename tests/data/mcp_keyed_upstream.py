"""An MCP server over HTTP that answers only who sends its key: `mcp_keyed_upstream.py PORT`."""

from __future__ import annotations

import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

KEY = b"Bearer s3cr3t-of-the-upstream"
server = MCPServer("keyed")


@server.tool()
def bash(command: str) -> str:
    """Runs a command."""
    raise AssertionError(f"called for real: {command}")


class Keyed:
    """Turns away requests without the key, or at another path."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != KEY:
            await PlainTextResponse("no key", status_code=401)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(
        Keyed(server.streamable_http_app()), port=int(sys.argv[1]), log_level="warning", ws="none"
    )
