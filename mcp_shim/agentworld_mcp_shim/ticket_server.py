"""A real MCP server that keeps tickets in SQLite: `python -m agentworld_mcp_shim.ticket_server FILE`.

`agentworld bench transfer` replays calls at it. It shares nothing with the tables of worlds, so that the two can
differ.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError


def main() -> None:
    records = sqlite3.connect(sys.argv[1], isolation_level=None, check_same_thread=False)
    records.row_factory = sqlite3.Row
    server = MCPServer("tickets", log_level="ERROR")

    def rows(statement: str, *values: object) -> list[dict[str, Any]]:
        found = records.execute(statement, values).fetchall()
        return [
            {name: value for name, value in dict(one).items() if value is not None} for one in found
        ]

    def one(table: str, key: int) -> dict[str, Any]:
        found = rows(f"SELECT * FROM {table} WHERE id = ?", key)
        if not found:
            raise ToolError(f"{key} not found")
        return found[0]

    def insert(table: str, **values: object) -> dict[str, Any]:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        done = records.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",
            tuple(values.values()),
        )
        return one(table, done.lastrowid or 0)

    @server.tool(structured_output=False)
    def create_ticket(title: str, owner: str | None = None, priority: int | None = None) -> Any:
        return insert("tickets", title=title, owner=owner, priority=priority, status="open")

    @server.tool(structured_output=False)
    def get_ticket(id: int) -> Any:
        return one("tickets", id)

    @server.tool(structured_output=False)
    def list_tickets(status: str | None = None, owner: str | None = None) -> str:

        return json.dumps(
            rows(
                "SELECT * FROM tickets WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR owner = ?2) ORDER BY id",
                status,
                owner,
            )
        )

    @server.tool(structured_output=False)
    def update_ticket(id: int, owner: str | None = None, priority: int | None = None) -> Any:
        one("tickets", id)
        records.execute(
            "UPDATE tickets SET owner = coalesce(?, owner), priority = coalesce(?, priority) WHERE id = ?",
            (owner, priority, id),
        )
        return one("tickets", id)

    @server.tool(structured_output=False)
    def close_ticket(id: int) -> Any:
        if one("tickets", id)["status"] != "open":
            raise ToolError(f"Ticket {id} is closed already.")
        records.execute("UPDATE tickets SET status = 'closed' WHERE id = ?", (id,))
        return one("tickets", id)

    @server.tool(structured_output=False)
    def delete_ticket(id: int) -> Any:
        found = one("tickets", id)
        records.execute("DELETE FROM tickets WHERE id = ?", (id,))
        return found

    @server.tool(structured_output=False)
    def count_tickets(status: str | None = None) -> str:
        return str(len(rows("SELECT id FROM tickets WHERE ?1 IS NULL OR status = ?1", status)))

    @server.tool(structured_output=False)
    def add_comment(ticket: int, text: str) -> Any:
        one("tickets", ticket)
        return insert("comments", ticket=ticket, text=text)

    @server.tool(structured_output=False)
    def list_comments(ticket: int) -> str:
        one("tickets", ticket)
        return json.dumps(rows("SELECT * FROM comments WHERE ticket = ? ORDER BY id", ticket))

    server.run()


if __name__ == "__main__":
    main()
