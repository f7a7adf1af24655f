"""An MCP server without any SDK, for what no SDK would send: `mcp_raw_upstream.py CASE [N]`.

It speaks the handshake era only, and starts fast.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

CASE = sys.argv[1]
NUMBER = int(sys.argv[2]) if len(sys.argv) > 2 else 0
SHELL: dict[str, Any] = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}


def tool(name: str, schema: Any = SHELL, **more: Any) -> dict[str, Any]:
    """A tool as it is listed."""
    return {"name": name, "description": f"The tool {name}.", "inputSchema": schema, **more}


def tools() -> list[Any]:
    """What this case lists on its first page."""
    if CASE == "many":
        return [tool("bash"), *(tool(f"tool_{number}") for number in range(NUMBER - 1))]
    if CASE == "malformed":
        return [
            tool("bash"),
            tool("schema_is_text", "object"),
            tool("no_properties", {"type": "object", "properties": ["command"]}),
            tool("not_an_object", {"type": "string"}),
            tool("execute", {**SHELL, "properties": {"command": {"minLength": "one"}}}),
            tool("terminal", {"type": "object", "properties": {"commands": {"$ref": "#/nowhere"}}}),
            {"description": "It has no name."},
            {"name": "no_schema"},
        ]
    if CASE == "duplicates":
        return [tool("bash"), tool("bash"), tool("execute"), tool("execute", title="Another")]
    return [tool("bash")]


def page(cursor: str | None) -> dict[str, Any]:
    """The result of `tools/list`."""
    if CASE == "pages":
        number = int(cursor.removeprefix("page-")) if cursor else 0
        listed = {"tools": [tool(f"tool_{number}"), *(tools() if number == 1 else [])]}
        return listed if number == NUMBER else {**listed, "nextCursor": f"page-{number + 1}"}
    if CASE == "loop":
        return {"tools": tools(), "nextCursor": "round-and-round"}
    return {"tools": tools()}


def main() -> None:
    """Answers requests until standard input ends."""
    if CASE == "banner":
        print("Welcome to the server!", flush=True)
    if CASE == "complaint":
        print("It listens to nobody.", file=sys.stderr)
        sys.exit(NUMBER)
    if CASE == "silent":
        time.sleep(600)
    for line in sys.stdin:
        message = json.loads(line)
        method = message.get("method")
        params: dict[str, Any] = message.get("params") or {}
        answer: dict[str, Any] = {"error": {"code": -32601, "message": "Method not found"}}
        if method == "initialize":
            answer = {
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "raw", "version": "1"},
                }
            }
        if method == "tools/list":
            if CASE == "crash":
                print("Segmentation fault, nearly", file=sys.stderr, flush=True)
                sys.exit(3)
            if CASE == "refuses":
                answer = {"error": {"code": -32000, "message": "Not today"}}
            else:
                answer = {"result": page(params.get("cursor"))}
        if "id" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)


main()
