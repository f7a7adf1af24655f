"""An MCP server of the official SDK that keeps issues in memory: what a table of records stands for."""

from __future__ import annotations

from typing import Literal

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

server = MCPServer("tracker")


class Issue(BaseModel):
    """One issue."""

    id: int
    title: str
    body: str = ""
    state: Literal["open", "closed"] = "open"


class Page(BaseModel):
    """Some of the issues."""

    issues: list[Issue]
    total: int


issues: dict[int, Issue] = {}


@server.tool()
def create_issue(title: str, body: str = "") -> Issue:
    """Creates an issue."""
    issue = issues[len(issues) + 1] = Issue(id=len(issues) + 1, title=title, body=body)
    return issue


@server.tool()
def get_issue(issue_id: int) -> Issue:
    """Gets one issue."""
    return issues[issue_id]


@server.tool()
def list_issues(
    state: Literal["open", "closed"] | None = None, limit: int = 20, offset: int = 0
) -> Page:
    """Lists issues."""
    found = [issue for issue in issues.values() if state in (None, issue.state)]
    return Page(issues=found[offset : offset + limit], total=len(found))


@server.tool()
def update_issue(
    issue_id: int, title: str | None = None, state: Literal["open", "closed"] | None = None
) -> Issue:
    """Changes an issue."""
    changed = {"title": title or issues[issue_id].title, "state": state or issues[issue_id].state}
    issues[issue_id] = issues[issue_id].model_copy(update=changed)
    return issues[issue_id]


if __name__ == "__main__":
    server.run("stdio")
