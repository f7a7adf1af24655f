"""A small MCP server that keeps notes in a SQLite file: `python notes_server.py FILE`."""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

notes = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)
server = MCPServer("notes", log_level="ERROR")


@server.tool(structured_output=False)
def list_notes() -> str:
    found = notes.execute("SELECT slug, text FROM notes ORDER BY slug")
    return json.dumps([{"slug": slug, "text": text} for slug, text in found])


@server.tool(structured_output=False)
def change_note(slug: str, text: str) -> Any:
    if not notes.execute("UPDATE notes SET text = ? WHERE slug = ?", (text, slug)).rowcount:
        raise ToolError(f"{slug} not found")
    return {"slug": slug, "text": text}


server.run()
