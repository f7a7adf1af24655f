"""The worlds of threads: made once, found again by their id, forked and thrown away.

A graph's state holds the world's id and a ref. This module holds nothing that cannot be found again by
them: a server that is restarted goes on where its threads stood, if its worlds are kept on disk.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from langgraph.errors import GraphBubbleUp

from agentworld_graphs._interruption import SimulationInterrupted, as_ours
from agentworld_sim import (
    Engine,
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
from agentworld_sim.runtime.world_history import off_loop
from agentworld_sim.scenario import shipped_scenarios
from agentworld_sim.store.home import open_store

OPEN = 256
"""How many worlds stay open. One that is not is opened again by its id when its thread goes on."""


class OpenWorlds:
    """The worlds that this process has open."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: OrderedDict[tuple[str, str, str | None], World] = OrderedDict()

    async def create(
        self, scenario: Scenario, *, seed: int | None, model_url: str | None, **options: Any
    ) -> World:
        """A new world of a scenario, with other options of `World.create`."""
        model, store = await asyncio.to_thread(lambda: (model_at(model_url), store_of_process()))
        world = await World.create(scenario, seed=seed, store=store, model=model, **options)
        return self._hold(world, model_url)

    async def find(self, id: str, *, model_url: str | None, **options: Any) -> World:
        """The world of a thread that was begun before.

        Raises:
            UnknownWorldError: it is gone.
        """
        model, store = await asyncio.to_thread(lambda: (model_at(model_url), store_of_process()))
        with self._guard:
            held = self._held.get((_where(), id, model_url))
        if held is not None:
            return self._hold(held, model_url)
        try:
            opened = await World.open(id, store=store, model=model, **options)
            return self._hold(opened, model_url)
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
    engines: Sequence[Engine] | None = None,
    controls: Sequence[Control] | None = None,
) -> AsyncGenerator[World]:
    """A fork that is thrown away afterwards; engines and controls are the world's own by default."""
    with interrupting():
        fork = made = await world.fork(at=at, controls=controls)
    try:
        if engines is not None:
            with interrupting():
                fork = await World.open(
                    made.id, store=world.store, engines=engines, controls=made.controls
                )
                # The agent's own tools, which no scenario names.
                fork.add_tools([one for name, one in world.tools.items() if name not in fork.tools])
        async with fork:
            yield fork
    finally:
        await made.close()
        await off_loop(world.store, lambda: world.store.remove(made.id))


def imagining(world: World) -> list[Engine]:
    """Engines for a fork in which the language world model answers everything.

    Raises:
        UsageError: the world has no model.
    """
    if world.model is None:
        raise UsageError(
            "nothing can be imagined without a language world model: name its URL (model_url, or"
            " AGENTWORLD_MODEL_URL), or choose predictor='computed'."
        )
    scenario = world.scenario
    imaginer = world.model.imaginer(scenario.to_prompt_context(), scenario.model.limits())
    return [ModelEngine(imaginer)]


async def claim(world: World, once: str, *, at: WorldRef) -> bool:
    """Whether nobody claimed `once` before."""
    name = f"really-{once}"
    try:
        await (await world.fork(at=at, id=name)).close()
    except UsageError:
        # Raises, if that was another mistake than the one that the name is taken.
        await off_loop(world.store, lambda: world.store.world(name))
        return False
    return True


@contextmanager
def interrupting(
    only: type[Exception] = Exception, *, but: tuple[type[Exception], ...] = ()
) -> Generator[None]:
    """What fails inside is ours: it ends the run, never becomes a message, and leaves the thread as it
    was.

    Args:
        only: Errors of other classes are somebody else's, and pass as they are.
        but: So do these.

    Raises:
        SimulationInterrupted: something failed.
    """
    try:
        yield
    except (GraphBubbleUp, *but):
        raise
    except only as error:
        raise SimulationInterrupted(as_ours(error)) from error


def call_of(call: Any) -> ToolCall:
    """A call of an `AIMessage`, as a world takes it."""
    return ToolCall(call["name"], call["args"], call["id"] or "")


def scenario_of(named: str | None, default: Scenario | Path | str) -> Scenario:
    """The scenario of a new world.

    Args:
        named: What the configuration says. It may come from anybody who reaches the server, so it can
            name what is installed, and no file.
        default: What the graph was built with.

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


def really_allowed(asked: frozenset[str], built: frozenset[str] | None) -> frozenset[str]:
    """The tools that may run for real.

    Args:
        asked: Names in the configuration.
        built: Names the graph was built with; by default what AGENTWORLD_ALLOW_REAL lists, split at
            commas.

    Raises:
        UsageError: the configuration asks for more than was allowed. It may come from anybody who reaches
            the server, so it can only choose among what the one who runs the server allows.
    """
    if built is None:
        listed = os.environ.get("AGENTWORLD_ALLOW_REAL", "").split(",")
        built = frozenset(name.strip() for name in listed if name.strip())
    more = sorted(asked - built)
    if more:
        raise UsageError(
            f"allow_real names {more[0]!r}, which may not run for real here. Whoever runs this process"
            f" allows tools, by their whole names: AGENTWORLD_ALLOW_REAL={','.join(more)}. Allowed"
            f" are: {', '.join(sorted(built)) or 'none'}."
        )
    return asked & built
