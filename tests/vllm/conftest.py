"""A real vLLM on the CPU for the tests of this folder, which only `make test-vllm` runs.

Whoever asks for the whole suite does not get them: they need an environment of their own, of 3.4 GB.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentworld_sim import Scenario, ToolSpec, World
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from tests.vllm.server import VllmServer, serve

HERE = Path(__file__).resolve().parent

Open = Callable[..., Awaitable[World]]


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Collects this folder only where it is named on the command line."""
    asked = [Path(argument.split("::")[0]).resolve() for argument in config.args]
    return None if any(path == HERE or HERE in path.parents for path in asked) else True


@pytest.fixture(scope="session")
def vllm_server() -> Generator[VllmServer]:
    """The tiny model, served for the whole session."""
    with serve() as server:
        yield server


@pytest.fixture
def http(vllm_server: VllmServer) -> Generator[httpx2.Client]:
    """A plain client with the key, for looking at what the server really says."""
    headers = {"Authorization": f"Bearer {vllm_server.api_key}"}
    # The server closes idle connections after some seconds, and may do so as the next request is sent.
    alone = httpx2.Limits(max_keepalive_connections=0)
    with httpx2.Client(
        base_url=vllm_server.root, headers=headers, timeout=120, limits=alone
    ) as client:
        yield client


@pytest.fixture
async def imagining(vllm_server: VllmServer) -> AsyncIterator[Open]:
    """Opens worlds that the server imagines, each with a client of its own."""
    async with AsyncExitStack() as stack:

        async def opened(
            *tools: ToolSpec, scenario: Scenario | None = None, seed: int = 1, **settings: Any
        ) -> World:
            chosen: dict[str, Any] = {
                "url": vllm_server.url,
                "api_key": vllm_server.api_key,
                "max_tokens": 300,
                "retries": 0,
                **settings,
            }
            model = WorldModel(ModelSettings(**chosen))
            world = await World.create(scenario, model=model, seed=seed)
            await stack.enter_async_context(world)
            world.add_tools(tools)
            return world

        yield opened
