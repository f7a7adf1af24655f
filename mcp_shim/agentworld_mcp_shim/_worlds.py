"""Which world answers: kept outside the process, so that a client that starts one per call finds it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentworld_sim.cli._model_options import ModelChoice
from agentworld_sim.errors import UnknownWorldError, UsageError
from agentworld_sim.tools import Access

if TYPE_CHECKING:
    from agentworld_sim.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldChoice:
    """What the command line says of the world."""

    world_id: str | None = None
    """Opened if it exists, else made; a fresh one by default."""
    scenario: str | None = None
    """How a new world begins: a file, a folder, or the name of a shipped scenario."""
    store: str | None = None
    """The store's file, instead of the user's own."""
    memory: bool = False
    """Keep it in memory: gone with the process."""
    model: ModelChoice = field(default_factory=ModelChoice)
    """The language world model that imagines what cannot be computed."""


def check_choice(choice: WorldChoice) -> None:
    """Raises `UsageError` when the choice contradicts itself."""
    if choice.memory and choice.store is not None:
        raise UsageError(
            "--memory keeps nothing, and --store says where to keep. Give one of them."
        )


async def open_world(choice: WorldChoice, *, access: Mapping[str, Access] | None = None) -> World:
    """The world of the command line.

    Args:
        choice: Which one.
        access: Access rules that go before the scenario's.

    Raises:
        UsageError: a world of that id exists and began with another scenario.
        AgentworldError: the store or the scenario cannot be used.
    """
    import asyncio

    # In a thread, with everything it imports: the protocol must not wait for it.
    world = await asyncio.to_thread(_import_world)
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.state import MemoryStore
    from agentworld_sim.state._home import open_store

    scenario = None if choice.scenario is None else Scenario.load(choice.scenario)
    model = await asyncio.to_thread(choice.model.find)
    if choice.memory:
        return await world.create(
            scenario, id=choice.world_id, store=MemoryStore(), model=model, access=access
        )
    store = await asyncio.to_thread(open_store, choice.store)
    if choice.world_id is None:
        return await world.create(scenario, store=store, model=model, access=access)
    for _ in range(2):
        try:
            record = await asyncio.to_thread(store.world, choice.world_id)
        except UnknownWorldError:
            try:
                return await world.create(
                    scenario, id=choice.world_id, store=store, model=model, access=access
                )
            except UsageError:
                # Another process may have made it just now; if not, the second round says why.
                continue
        began = json.loads(record.scenario)["name"]
        if scenario is not None and scenario.name != began:
            raise UsageError(
                f"the world {choice.world_id!r} began with the scenario {began!r}, and --scenario"
                f" says {scenario.name!r}. Leave --scenario out, or choose another id."
            )
        return await world.open(choice.world_id, store=store, model=model, access=access)
    return await world.create(scenario, id=choice.world_id, store=store, model=model, access=access)


def put_away(world: World, choice: WorldChoice) -> None:
    """Closes the store, and removes the world from it if it was fresh and nobody used it.

    Clients start a server only to list its tools, and each start would leave a world behind.
    """
    if choice.world_id is None and world.store.world(world.id).head == world.root:
        world.store.remove(world.id)
    world.store.close()


def _import_world() -> type[World]:
    from agentworld_sim.world import World

    return World
