"""What the tests of this folder ask of the server."""

from __future__ import annotations

import json
from typing import Any, Final

import httpx2

SYSTEM: Final = {"role": "system", "content": "You are a terminal."}
ACTION: Final = json.dumps([{"keystrokes": "git log\n", "duration": 0.1}])
MESSAGES: Final = (
    SYSTEM,
    {"role": "user", "content": f"### Turn 1\n**Action:**\n```json\n{ACTION}\n```"},
)
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "output": {"type": "string", "maxLength": 40},
        "exit_code": {"type": "integer", "minimum": 0, "maximum": 255},
    },
    "required": ["output", "exit_code"],
    "additionalProperties": False,
}


def request(**fields: Any) -> dict[str, Any]:
    """A chat request with the world model's sampling defaults; `fields` replace or add."""
    return {
        "model": "tiny",
        "messages": MESSAGES,
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
        "seed": 7,
        "max_tokens": 400,
        "chat_template_kwargs": {"enable_thinking": True},
        **fields,
    }


def chat(http: httpx2.Client, **fields: Any) -> httpx2.Response:
    return http.post("/v1/chat/completions", json=request(**fields))


def choice(http: httpx2.Client, **fields: Any) -> dict[str, Any]:
    """The only choice of an answer that must be good."""
    response = chat(http, **fields)
    assert response.status_code == 200, response.text
    (only,) = response.json()["choices"]
    return only


def chunks(http: httpx2.Client, **fields: Any) -> list[dict[str, Any]]:
    """All chunks of a streamed answer, whose end mark is checked."""
    with http.stream("POST", "/v1/chat/completions", json=request(stream=True, **fields)) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert all(line.startswith("data: ") for line in lines)
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def joined(parts: list[dict[str, Any]], field: str) -> str:
    """One field of the deltas, put together."""
    deltas = (part["choices"][0]["delta"] for part in parts if part["choices"])
    return "".join(delta.get(field) or "" for delta in deltas)


def counter(http: httpx2.Client, name: str) -> float:
    """One sample of the server's metrics, by the start of its line."""
    lines = http.get("/metrics").text.splitlines()
    (line,) = (line for line in lines if line.startswith(name + "{"))
    return float(line.rsplit(" ", 1)[1])
