"""Worlds with a scripted model, for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Protocol

import pytest

from agentworld_sim import Scenario, ToolSpec, World
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.scripted import ModelRequest, Reply, Script, ScriptedModelServer

WEATHER = ToolSpec(
    name="weather",
    description="The weather in a city.",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
)


class Opened(Protocol):
    """A world, and the server behind it."""

    world: World
    server: ScriptedModelServer


class _Opened:
    def __init__(self, world: World, server: ScriptedModelServer) -> None:
        self.world = world
        self.server = server


Open = Callable[..., Awaitable[Opened]]


def always(reply: Reply | str) -> Callable[[ModelRequest], Reply | str]:
    """A script that gives one reply to every request."""
    return lambda _: reply


@pytest.fixture
async def imagining() -> AsyncIterator[Open]:
    """Opens worlds whose model says what a script says."""
    async with AsyncExitStack() as stack:

        async def opened(
            script: Script,
            *,
            tools: tuple[ToolSpec, ...] = (WEATHER,),
            scenario: Scenario | None = None,
            server: dict[str, Any] | None = None,
            world: dict[str, Any] | None = None,
            **settings: Any,
        ) -> Opened:
            scripted = stack.enter_context(ScriptedModelServer(script, **(server or {})))
            chosen: dict[str, Any] = {"url": scripted.url, "retries": 0, **settings}
            model = WorldModel(ModelSettings(**chosen))
            made = await World.create(scenario, model=model, **(world or {}))
            await stack.enter_async_context(made)
            made.add_tools(tools)
            return _Opened(made, scripted)

        yield opened
