"""Clients that are closed, and pauses that take no time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import ModelSettings
from tests.llm.harness import MODEL, Connect


@pytest.fixture
def pauses() -> list[float]:
    """The pauses that clients made between two attempts."""
    return []


@pytest.fixture
async def connect(pauses: list[float]) -> AsyncIterator[Connect]:
    """Makes clients that do not wait between attempts."""
    clients: list[ChatClient] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    def made(url: str, **settings: Any) -> ChatClient:
        given: dict[str, Any] = {"url": url, "model": MODEL, **settings}
        client = ChatClient(ModelSettings(**given), sleep=sleep)
        clients.append(client)
        return client

    yield made
    for client in clients:
        await client.close()
