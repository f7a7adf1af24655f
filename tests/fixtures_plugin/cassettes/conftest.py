"""Suites with a scripted model server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agentworld_sim.llm.scripted import ModelRequest, Reply, ScriptedModelServer, ScriptedReply
from tests.fixtures_plugin.conftest import Suite

CONFTEST = """
    import pytest
    from agentworld_sim import ToolSpec

    @pytest.fixture
    def ask(world):
        return asking(world)

    @pytest.fixture
    def ask_module(module_world):
        return asking(module_world)

    def asking(world):
        city = {"type": "object", "properties": {"city": {"type": "string"}}}
        world.world.add_tools([ToolSpec(name="weather", input_schema=city)])
        return lambda city: world.call("weather", city=city).text
"""


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


def cassettes(suite: Suite) -> list[str]:
    """The cassettes that are there."""
    return sorted(str(path.relative_to(suite.path)) for path in suite.path.rglob("*.yaml"))
