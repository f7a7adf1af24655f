"""Models for the tests of what a model writes of worlds."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from agentworld_sim.fiction.model_author import ModelAuthor
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings


@asynccontextmanager
async def scripted_author(
    reply: Callable[[ModelRequest], Any], **settings: Any
) -> AsyncGenerator[tuple[ModelAuthor, ScriptedModelServer]]:
    """An author who writes what `reply` makes of each request."""
    async with ScriptedModelServer(reply) as server:
        model = WorldModel(ModelSettings(url=server.url, retries=0, **settings))
        yield ModelAuthor(model), server
        await model.close()


def given(request: ModelRequest) -> Any:
    """What the author was given at first."""
    return json.loads(request.messages[1]["content"])
