"""An MCP server without an SDK that offers everything: `mcp_full_upstream.py ERA [CASE] [PORT]`.

ERA is `legacy` (handshake) or `modern` (an envelope in each request). It speaks over stdio, or with a
port over streamable HTTP. Each start and each request leaves a mark in `$MARKS`, if that is set.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ERA = sys.argv[1]
CASE = sys.argv[2] if len(sys.argv) > 2 else ""
PORT = int(sys.argv[3]) if len(sys.argv) > 3 else None

INFO = {
    "name": "offers-everything",
    "version": "3.2.1",
    "title": "Everything",
    "description": "It has all there is.",
    "websiteUrl": "https://everything.example",
    "icons": [
        {"src": "https://everything.example/i.png", "mimeType": "image/png", "sizes": ["48x48"]}
    ],
}
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": False},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
    "experimental": {"everything.example/odd": {"level": 3}},
}
ICON = {"src": "data:image/svg+xml;base64,PHN2Zy8+", "mimeType": "image/svg+xml"}
TEXT = "One line.\nAnother, with \u00fcmlauts.\n"
BLOB = bytes(range(256))
LISTS: dict[str, list[tuple[str | None, list[dict[str, Any]]]]] = {
    "tools": [
        (
            None,
            [
                {
                    "name": "place_order",
                    "title": "Place an order",
                    "description": "Orders\u200b things.\u202e",
                    "inputSchema": {
                        "$schema": "https://json-schema.org/draft/2020-12/schema",
                        "type": "object",
                        "properties": {
                            "size": {"enum": ["small", "middle", "large"], "default": None},
                            "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
                        },
                        "required": ["size"],
                        "$defs": {"Line": {"type": "object", "additionalProperties": False}},
                        "additionalProperties": False,
                    },
                    "outputSchema": {
                        "type": "object",
                        "properties": {"id": {"type": "string"}},
                        "required": ["id"],
                    },
                    "annotations": {
                        "title": "Order",
                        "readOnlyHint": False,
                        "destructiveHint": True,
                        "idempotentHint": False,
                        "openWorldHint": True,
                    },
                    "icons": [ICON],
                    "_meta": {"everything.example/price": 7, "everything.example/deep": {"a": [1]}},
                    "x-later": {"unknown": True},
                }
            ],
        ),
        ("second", [{"name": "bash", "inputSchema": {"type": "object"}}]),
    ],
    "resources": [
        (
            None,
            [
                {
                    "uri": "memo://one",
                    "name": "one",
                    "title": "The first",
                    "description": "A memo.",
                    "mimeType": "text/plain",
                    "size": len(TEXT.encode()),
                    "annotations": {"audience": ["user", "assistant"], "priority": 0.5},
                    "icons": [ICON],
                    "_meta": {"everything.example/owner": "nobody"},
                },
                {"uri": "memo://bytes", "name": "bytes", "mimeType": "application/octet-stream"},
            ],
        ),
        (
            "more of them",
            [
                {"uri": "file:///srv/app/note.txt", "name": "note", "mimeType": "text/markdown"},
                {"uri": "memo://huge", "name": "huge"},
                {"uri": "memo://broken", "name": "broken"},
            ],
        ),
    ],
    "resourceTemplates": [
        (
            None,
            [
                {
                    "uriTemplate": "memo://{name}",
                    "name": "memo",
                    "title": "Any memo",
                    "description": "By name.",
                    "mimeType": "text/plain",
                    "annotations": {"priority": 1.0},
                    "icons": [ICON],
                    "_meta": {"everything.example/x": {"nested": None}},
                }
            ],
        )
    ],
    "prompts": [
        (
            None,
            [
                {
                    "name": "greet",
                    "title": "A greeting",
                    "description": "Says hello.",
                    "arguments": [{"name": "style", "description": "How.", "required": False}],
                    "icons": [ICON],
                    "_meta": {"everything.example/y": 1},
                },
                {"name": "review", "arguments": [{"name": "size", "required": True}]},
            ],
        )
    ],
}
METHODS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


class Refused(Exception):
    """Becomes a JSON-RPC error."""


def mark(name: str) -> None:
    """Tells the test what happened."""
    if "MARKS" in os.environ:
        (Path(os.environ["MARKS"]) / name.replace("/", "-")).touch()


def listed(key: str, cursor: str | None) -> dict[str, Any]:
    """One page."""
    if CASE == "endless":
        number = int(cursor or 0) + 1
        return {key: [], "nextCursor": str(number)}
    if CASE == "crowd" and key == "resources":
        count = 10_001
        return {key: [{"uri": f"memo://{number}", "name": "m"} for number in range(count)]}
    if CASE == "twins" and key == "resources":
        twin = {"uri": "memo://twin", "name": "first"}
        return {key: [twin, {**twin, "name": "second"}]}
    if CASE == "changed" and key == "tools":
        changed = {"name": "bash", "description": "Now other.", "inputSchema": {"type": "object"}}
        return {key: [changed, {"name": "added", "inputSchema": {"type": "object"}}]}
    if CASE == "huge" and key == "tools":
        tool = {"name": "bash", "description": "x" * 3_000_000, "inputSchema": {"type": "object"}}
        return {key: [tool]}
    pages = LISTS[key]
    for number, (own, items) in enumerate(pages):
        if own == cursor:
            page: dict[str, Any] = {key: items, "_meta": {"everything.example/page": number}}
            if number + 1 < len(pages):
                page["nextCursor"] = pages[number + 1][0]
            return page
    raise Refused(-32602, f"Invalid cursor: {cursor}")


def read(uri: str) -> dict[str, Any]:
    """The result of `resources/read`."""
    content: dict[str, Any] = {"uri": uri, "mimeType": "text/plain", "_meta": {"z": 1}}
    if uri == "memo://bytes":
        blob = base64.b64encode(BLOB).decode()
        content = {"uri": uri, "mimeType": "application/octet-stream", "blob": blob}
    elif uri == "memo://huge":
        content["text"] = "x" * (2**20 + 1)
    elif uri == "memo://one":
        content["text"] = TEXT + os.environ.get("EVERYTHING_PASSWORD", "")
    else:
        raise Refused(-32002, "Resource not found")
    return {"contents": [content]}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The answer to one request; `None` for what is unknown."""
    if method == "initialize" and ERA == "legacy":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {} if CASE == "bare" else CAPABILITIES,
            "serverInfo": INFO,
            "instructions": "Look around first.",
        }
    if method == "server/discover" and ERA == "modern":
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {} if CASE == "bare" else CAPABILITIES,
            "instructions": "Look around first.",
        }
    if method in METHODS:
        if CASE == "partly" and method == "resources/list":
            raise Refused(-32000, "Not today")
        if CASE == "partly" and method == "resources/templates/list":
            return None
        return listed(METHODS[method], params.get("cursor"))
    if method == "resources/read":
        return read(params["uri"])
    if method == "prompts/get":
        if params["name"] != "greet":
            raise Refused(-32602, "Missing arguments")
        text = {"type": "text", "text": f"Hello, {params.get('arguments') or 'you'}!"}
        return {"description": "A greeting", "messages": [{"role": "user", "content": text}]}
    return None


def answered(message: dict[str, Any]) -> dict[str, Any] | None:
    """The response to one message; `None` for a notification."""
    method = str(message.get("method"))
    mark(f"asked-{method}")
    if "id" not in message:
        return None
    params: dict[str, Any] = message.get("params") or {}
    head = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        found = result(method, params)
    except Refused as error:
        code, text = error.args
        return {**head, "error": {"code": code, "message": text}}
    if found is None:
        return {**head, "error": {"code": -32601, "message": "Method not found"}}
    if ERA == "modern":
        stamp = {**found.get("_meta", {}), "io.modelcontextprotocol/serverInfo": INFO}
        found = {"resultType": "complete", "ttlMs": 5, "cacheScope": "public", **found}
        found["_meta"] = stamp
    return {**head, "result": found}


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP with plain JSON answers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wanted = os.environ.get("EXPECTED_AUTHORIZATION")
        if wanted and self.headers.get("Authorization") != wanted:
            self._send(401, b"")
            return
        response = answered(json.loads(body))
        self._send(202 if response is None else 200, json.dumps(response or "").encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serves until standard input ends, or for ever."""
    mark("started")
    for name in os.environ:
        if name.startswith("AGENTWORLD_"):
            mark(f"saw-{name}")
    if PORT is not None:
        server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
        print(server.server_address[1], file=sys.stderr, flush=True)
        server.serve_forever()
    for line in sys.stdin:
        response = answered(json.loads(line))
        if response is not None:
            print(json.dumps(response), flush=True)


main()
