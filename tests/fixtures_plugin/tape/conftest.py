"""Suites with a scripted model server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentworld_sim.model.scripted import ModelRequest, Reply, ScriptedModelServer, ScriptedReply


def numbered(request: ModelRequest) -> Reply:
    """Another answer to each request."""
    return ScriptedReply.observation(f"answer {request.index}")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModelServer]:
    """A model that the environment names."""
    with ScriptedModelServer(numbered) as server:
        monkeypatch.setenv("AGENTWORLD_MODEL_URL", server.url)
        monkeypatch.delenv("CI", raising=False)
        yield server
