"""The worlds of threads: made once, found again by their id, forked and thrown away.

A graph's state holds the world's id and a ref. This module holds nothing that cannot be found again by
them: a server that is restarted goes on where its threads stood, if its worlds are kept on disk.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agentworld_graphs._interruption import interrupting
from agentworld_sim import (
    MemoryStore,
    Scenario,
    ScenarioError,
    ToolCall,
    UnknownWorldError,
    UsageError,
    World,
    WorldModel,
    WorldRef,
    WorldStore,
)
from agentworld_sim.controls import Control
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.errors import nearest
from agentworld_sim.llm.transport import is_loopback
from agentworld_sim.runtime.history import off_loop
from agentworld_sim.scenario import shipped_scenarios
from agentworld_sim.store.home import open_store

OPEN = 256
"""How many worlds stay open. One that is not is opened again by its id when its thread goes on."""


class OpenWorlds:
    """The worlds that this process has open."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: OrderedDict[tuple[str, str, str | None], World] = OrderedDict()

    async def open(
        self, id: str | Scenario, model_url: str | None, seed: int | None = None, **options: Any
    ) -> World:
        """The world of a thread that was begun before, or a new one of a scenario, with other options of
        `World.create`.

        Raises:
            UnknownWorldError: it is gone.
        """
        model, store = await asyncio.to_thread(lambda: (model_at(model_url), store_of_process()))
        options |= {"store": store, "model": model}
        if isinstance(id, Scenario):
            return self._hold(await World.create(id, seed=seed, **options), model_url)
        with self._guard:
            held = self._held.get((_where(), id, model_url))
        try:
            return self._hold(held or await World.open(id, **options), model_url)
        except UnknownWorldError:
            raise UnknownWorldError(
                f"the world {id!r} of this thread is not in the store any more. Worlds are kept in"
                " memory, and end with the process, unless AGENTWORLD_STORE names a file or a"
                " database for them. Begin a new thread."
            ) from None

    async def close(self) -> None:
        """Closes all. Their threads open them again when they go on."""
        with self._guard:
            held = list(self._held.values())
            self._held.clear()
        for world in held:
            await world.close()

    def _hold(self, world: World, model_url: str | None) -> World:
        key = (_where(), world.id, model_url)
        with self._guard:
            # Of two that opened it at the same time, the first one's is everybody's.
            world = self._held.setdefault(key, world)
            self._held.move_to_end(key)
            if len(self._held) > OPEN:
                self._held.popitem(last=False)[1].rest()
        return world


worlds = OpenWorlds()
"""Of this process."""


@asynccontextmanager
async def temporary_fork(
    world: World,
    at: WorldRef,
    *,
    imagined: bool = False,
    controls: Sequence[Control] | None = None,
) -> AsyncGenerator[World]:
    """A fork that is thrown away afterwards, with the world's own controls by default. If it is `imagined`, the
    language world model answers everything."""
    with interrupting():
        if imagined and world.model is None:
            raise UsageError(
                "nothing can be imagined without a language world model: name its URL (model_url, or"
                " AGENTWORLD_MODEL_URL), or choose predictor='computed'."
            )
        fork = made = await world.fork(at=at, controls=controls)
    try:
        if imagined and world.model:
            with interrupting():
                scenario = world.scenario
                imaginer = world.model.imaginer(
                    scenario.to_prompt_context(), scenario.model.limits()
                )
                fork = await World.open(
                    made.id,
                    store=world.store,
                    engines=[ModelEngine(imaginer)],
                    controls=made.controls,
                )
                # The agent's own tools, which no scenario names.
                fork.add_tools([one for name, one in world.tools.items() if name not in fork.tools])
        async with fork:
            yield fork
    finally:
        await made.close()
        await off_loop(world.store, lambda: world.store.remove(made.id))


def call_of(call: Any) -> ToolCall:
    """A call of an `AIMessage`, as a world takes it."""
    return ToolCall(call["name"], call["args"], call["id"] or "")


def scenario_of(named: str | None, default: Scenario | Path | str) -> Scenario:
    """The scenario of a new world: the one that the configuration names, or what the graph was built with. The
    configuration may come from anybody who reaches the server, so it can name what is installed, and no file.

    Raises:
        ScenarioError: there is none of that name, or it is invalid.
    """
    if named is None:
        return default if isinstance(default, Scenario) else Scenario.load(default)
    known = shipped_scenarios()
    if named not in known:
        raise ScenarioError(
            f"there is no installed scenario {named!r}.{nearest(named, known)} There are:"
            f" {', '.join(known)}. For a file of your own, build the graph with it:"
            " build(Agent(scenario=Path('…')))."
        )
    return Scenario.load(known[named])


def model_at(url: str | None) -> WorldModel | None:
    """The language world model at a URL; by default what AGENTWORLD_MODEL_URL names, if anything.

    Raises:
        UsageError: that is no URL.
    """
    variables = dict(os.environ)
    if url and url != variables.get("AGENTWORLD_MODEL_URL"):
        # The configuration may come from anybody who reaches the server: a server that it names is not
        # given the key that was meant for another.
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
        if not is_loopback(host):
            variables.pop("AGENTWORLD_API_KEY", None)
    return WorldModel.find(url=url, environment=variables)


def store_of_process() -> WorldStore:
    """Where worlds are kept: what AGENTWORLD_STORE names, otherwise memory."""
    return _store(_where())


def _where() -> str:
    return os.environ.get("AGENTWORLD_STORE", "")


@lru_cache(maxsize=8)
def _store(where: str) -> WorldStore:
    return open_store(where) if where else MemoryStore()
