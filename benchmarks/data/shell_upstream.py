"""An MCP server of the official SDK with a shell for its only tool. It is listed and never called."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("has-a-shell")


@server.tool()
def bash(command: str) -> str:
    """Runs a command."""
    raise NotImplementedError(command)


if __name__ == "__main__":
    server.run("stdio")
