"""An MCP server of the official SDK with one tool that reads a file: the least a real server does."""

from __future__ import annotations

from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("reads-files")


@server.tool()
def read_file(file_path: str) -> str:
    """Reads a file."""
    return Path(file_path).read_text(encoding="utf-8")


if __name__ == "__main__":
    server.run("stdio")
