"""The same requests with and without the shim: the same JSON comes back, to the last field."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tools/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    ("resources/read", {"uri": "test://static-text"}),
    ("resources/read", {"uri": "test://static-binary"}),
    ("resources/read", {"uri": "test://template/7/data"}),
    ("resources/read", {"uri": "test://nobody-has-this"}),
    ("prompts/get", {"name": "test_simple_prompt"}),
    (
        "prompts/get",
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}},
    ),
    ("prompts/get", {"name": "test_prompt_with_image"}),
    ("prompts/get", {"name": "nobody-has-this"}),
    ("tools/call", {"name": "test_simple_text"}),
    ("tools/call", {"name": "test_image_content"}),
    ("tools/call", {"name": "test_audio_content"}),
    ("tools/call", {"name": "test_embedded_resource"}),
    ("tools/call", {"name": "test_multiple_content_types"}),
    ("tools/call", {"name": "test_error_handling"}),
    ("tools/call", {"name": "test_tool_with_logging"}),
    ("tools/call", {"name": "test_tool_with_progress", "_meta": {"progressToken": "mine"}}),
    ("tools/call", {"name": "test_sampling", "arguments": {"wrong": 1}}),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
            "argument": {"name": "arg1", "value": "x"},
        },
    ),
    ("logging/setLevel", {"level": "info"}),
    ("nobody/knows", {}),
)


class Client:
    """Speaks the older protocol and keeps every message as it came."""

    def __init__(self, http: httpx2.Client, url: str) -> None:
        self._http = http
        self._url = url
        self._headers = {"Accept": "application/json, text/event-stream"}
        self.hello = self.ask(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {"sampling": {}},
                "clientInfo": {"name": "payloads", "version": "1"},
            },
        )
        self._headers["mcp-protocol-version"] = "2025-11-25"
        self._http.post(
            url,
            headers=self._headers,
            json={"jsonrpc": "2.0", "method": "notifications/initialized"},
        )

    def ask(self, method: str, params: dict[str, Any]) -> list[Any]:
        """All messages on the stream of the answer, the answer last."""
        message = {"jsonrpc": "2.0", "id": "n-1", "method": method, "params": params}
        messages: list[Any] = []
        with self._http.stream(
            "POST", self._url, headers=self._headers, json=message, timeout=60
        ) as response:
            if "mcp-session-id" in response.headers:
                self._headers["mcp-session-id"] = response.headers["mcp-session-id"]
            for line in response.iter_lines():
                if line.startswith("data: ") and line != "data: ":
                    messages.append(json.loads(line.removeprefix("data: ")))
                elif line.startswith("{"):
                    messages.append(json.loads(line))
        return messages


@pytest.fixture(scope="module")
def clients(direct: str, through: str) -> Any:
    with httpx2.Client() as http:
        yield Client(http, direct), Client(http, through)


EXPLAINED = {
    f"{kind}.listChanged": "The shim asks once, in the newest protocol, and shows what it is told. This"
    " server says there that its lists may change and in the older protocol that they do not."
    for kind in ("prompts", "resources", "tools")
}
"""Fields of the greeting that differ, and why. Of all other messages none does."""


def test_the_greeting_is_the_same_but_for_what_is_explained(clients: tuple[Client, Client]) -> None:
    (direct,), (through,) = (client.hello for client in clients)
    before, after = (one["result"].pop("capabilities") for one in (direct, through))
    assert through == direct
    differing = {
        f"{kind}.{flag}"
        for kind in {*before, *after}
        for flag in {*before[kind], *after[kind]}
        if before[kind].get(flag) != after[kind].get(flag)
    }
    assert differing == set(EXPLAINED)


@pytest.mark.parametrize(
    ("method", "params"),
    REQUESTS,
    ids=[f"{method} {params.get('name', params.get('uri', ''))}" for method, params in REQUESTS],
)
def test_every_message_is_the_same(
    clients: tuple[Client, Client], method: str, params: dict[str, Any]
) -> None:
    direct, through = (client.ask(method, params) for client in clients)
    assert direct
    assert through == direct
