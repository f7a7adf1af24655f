"""Options that several commands share, and the worlds they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from agentworld_sim.cli.model_options import ModelChoice
from agentworld_sim.errors import UnknownWorldError, UsageError
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore, WorldStore
from agentworld_sim.store.home import open_store
from agentworld_sim.world import World

F = TypeVar("F", bound=Callable[..., Any])


def world_options(command: F) -> F:
    """`--world`, `--scenario`, `--from` and `--seed`."""
    options = (
        click.option(
            "--world",
            "world_id",
            metavar="ID",
            envvar="AGENTWORLD_WORLD",
            help="Keep the state in this world; it is made if it does not exist.",
        ),
        click.option(
            "--scenario",
            metavar="FILE",
            help="Begin with this scenario: a file, or the name of a shipped one.",
        ),
        click.option(
            "--from",
            "folder",
            metavar="DIR",
            type=click.Path(path_type=Path),
            help="Begin with the files of this folder of yours (they are copied, never changed).",
        ),
        click.option("--seed", type=click.IntRange(min=0), help="Seed of the random source."),
    )
    for option in reversed(options):
        command = option(command)
    return command


async def named_world(
    world_id: str | None,
    scenario: str | None,
    folder: Path | None,
    seed: int | None,
    model_choice: ModelChoice,
) -> World:
    """The world that `world_options` describe: reopened if it exists, else made.

    Raises:
        UsageError: the options contradict each other, or describe a beginning for a world that has
            begun already.
    """
    if scenario and folder:
        raise UsageError("--scenario and --from both say how to begin. Give one of them.")
    model = model_choice.find()
    store: WorldStore = open_store() if world_id else MemoryStore()
    if world_id and _exists(store, world_id):
        given = "--scenario" if scenario else "--from" if folder else "--seed"
        if scenario or folder or seed is not None:
            raise UsageError(
                f"the world {world_id!r} exists already, and {given} says how to begin one. Leave"
                f" {given} out, choose another id, or `agentworld world rm {world_id}` first."
            )
        return await World.open(world_id, store=store, model=model)
    chosen = None
    if scenario:
        chosen = Scenario.load(scenario)
    elif folder:
        chosen = Scenario.from_directory(folder, domains=("terminal", "swe"))
    return await World.create(chosen, id=world_id, store=store, seed=seed, model=model)


def _exists(store: WorldStore, world_id: str) -> bool:
    try:
        store.world(world_id)
    except UnknownWorldError:
        return False
    return True
