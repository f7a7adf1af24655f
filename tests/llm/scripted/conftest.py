"""A plain client for the scripted server, and its answers read into Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from agentworld_sim.llm.scripted import ScriptedModelServer

Ask = Callable[..., httpx2.Response]


@dataclass(frozen=True)
class Streamed:
    """A stream, put together."""

    thinking: str
    content: str
    finish_reason: str | None
    usage: dict[str, Any] | None
    events: list[Any] = field(default_factory=list[Any])
    done: bool = False


def read_stream(text: str) -> Streamed:
    """The stream whose body this is."""
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    events = [json.loads(line) for line in lines if line != "[DONE]"]
    choices = [choice for event in events for choice in event.get("choices", ())]
    deltas = [choice["delta"] for choice in choices]
    reasons = [choice["finish_reason"] for choice in choices if choice["finish_reason"]]
    return Streamed(
        thinking="".join(
            delta.get("reasoning") or delta.get("reasoning_content") or "" for delta in deltas
        ),
        content="".join(delta.get("content") or "" for delta in deltas),
        finish_reason=reasons[-1] if reasons else None,
        usage=next((event["usage"] for event in events if "usage" in event), None),
        events=events,
        done=lines[-1:] == ["[DONE]"],
    )


@pytest.fixture(scope="session", name="read_stream")
def _read_stream() -> Callable[[str], Streamed]:
    return read_stream


@pytest.fixture
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=60) as client:
        yield client


@pytest.fixture
def ask(client: httpx2.Client) -> Ask:
    """Asks a server: `ask(server, "question", temperature=0.6)`."""

    def ask(
        server: ScriptedModelServer,
        question: str | list[dict[str, Any]] = "What is on the screen?",
        *,
        key: str | None = None,
        **fields: Any,
    ) -> httpx2.Response:
        messages = (
            [{"role": "user", "content": question}] if isinstance(question, str) else question
        )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{server.url}/chat/completions"
        return client.post(url, json={"messages": messages, **fields}, headers=headers)

    return ask
