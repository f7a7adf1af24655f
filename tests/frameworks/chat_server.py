"""A server of chat completions and responses, with tool calls, over real HTTP."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Says:
    """One answer of the model: a text, or calls as pairs of a tool and its arguments as JSON text."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()


@dataclass
class ChatServer:
    """Answers one request after another with what its script says."""

    script: list[Says] = field(default_factory=list[Says])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The bodies of the requests."""

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(body)
                number = len(outer.requests) - 1
                says = outer.script[number]
                form = _response if self.path.endswith("/responses") else _completion
                data = json.dumps(form(says, number)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


def _completion(says: Says, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": says.text or None}
    if says.calls:
        message["tool_calls"] = [
            {
                "id": f"call-{number}-{place}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for place, (name, arguments) in enumerate(says.calls)
        ]
    reason = "tool_calls" if says.calls else "stop"
    return {
        "id": f"chat-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _response(says: Says, number: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"item-{number}-{place}",
            "call_id": f"call-{number}-{place}",
            "name": name,
            "arguments": arguments,
            "status": "completed",
        }
        for place, (name, arguments) in enumerate(says.calls)
    ]
    if says.text:
        content: list[dict[str, Any]] = [
            {"type": "output_text", "text": says.text, "annotations": []}
        ]
        output.append(
            {
                "type": "message",
                "id": f"message-{number}",
                "role": "assistant",
                "status": "completed",
                "content": content,
            }
        )
    return {
        "id": f"response-{number}",
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
