"""`WorldSpec`: how a world is opened, as a value that crosses processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import ValidationError

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.llm import ModelSettings
from agentworld_sim.llm.settings import KEY_VARIABLE
from agentworld_sim.scenario import Scenario, empty_scenario
from agentworld_sim.store.home import open_store
from agentworld_sim.store.memory_store import MemoryStore
from agentworld_sim.store.urls import has_password
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.world import World

if TYPE_CHECKING:
    from agentworld_sim.ports.stores import WorldStore


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpec:
    """A world to be opened anywhere: in this process, a worker of Ray, or on another machine.

    It holds data only and can be pickled. It names a new world (`scenario`), or one that has begun (`id`
    in `store`, at `ref`). API keys are never in it: it names the environment variable that holds the key
    where the world is opened.
    """

    scenario: Scenario | None = None
    """What is in a new world; an empty Debian machine by default. Folders that it names must be where the
    world is opened."""
    seed: int | None = None
    """Of a new world, instead of the scenario's."""
    id: str | None = None
    """A world of `store` that has begun."""
    ref: WorldRef | None = None
    """Where in its history to stand; its head by default."""
    store: str | None = None
    """A file, or the URL of a PostgreSQL database without a password; memory by default."""
    model: ModelSettings | Literal[False] | None = None
    """The language world model; by default what the environment or the scenario names where the world is
    opened. `False` is none."""
    key_variable: str = ""
    """The environment variable with the model's API key; empty for none. AGENTWORLD_API_KEY where `model`
    was given that key."""
    controls: Sequence[Mapping[str, Any]] = ()
    """Declared controls of a new world, after those of the scenario."""

    def __post_init__(self) -> None:
        """Refuses what cannot cross processes.

        Raises:
            UsageError: the parts contradict each other, one of them belongs to this process, or a control
                is not one that a scenario can ask for.
        """
        if self.id is None and self.ref is not None:
            raise UsageError("a ref names a point in a world's history: give the world's id, too.")
        if self.id is not None:
            if self.store is None:
                raise UsageError(
                    f"the world {self.id!r} is looked for in a store: give the store's file or URL."
                    " One in memory cannot be reached from another process."
                )
            if self.scenario is not None or self.seed is not None or self.controls:
                raise UsageError(
                    f"the world {self.id!r} has begun: its scenario, seed and controls are in its"
                    " store. Leave them out, or leave the id out."
                )
        if self.store is not None and has_password(self.store):
            raise UsageError(
                "the store's URL holds a password, which would be wherever this spec is kept. Leave it"
                " out and set PGPASSWORD, or write a password file, where worlds are opened."
            )
        for control in self.controls:
            if not isinstance(cast("object", control), Mapping):
                raise UsageError(
                    f"the control {control!r} is a Python object of this process, and a WorldSpec"
                    " crosses processes. Declare it as data, as in a scenario's `controls`, or give it"
                    " to `World.create(controls=…)` where the world is made."
                )
        _with_controls(self.scenario, self.controls)
        self._forget_key()

    async def open(self) -> World:
        """Opens the world: a new one, or the one of `id`, which stands at `ref`.

        A store is opened once in each process; so is the model.

        Raises:
            UnknownWorldError: there is no such world, or no such point of its history.
            UsageError: the environment lacks the key, or the store cannot be used.
            StoreError: the store cannot be read.
            ScenarioError: a file of the scenario cannot be read.
        """
        store: WorldStore = MemoryStore()
        if self.store is not None:
            store = await asyncio.to_thread(_shared_store, self.store, os.getpid())
        model = self._find_model()
        if self.id is not None:
            return await World.open(self.id, store=store, at=self.ref, model=model)
        scenario = _with_controls(self.scenario, self.controls)
        return await World.create(scenario, seed=self.seed, store=store, model=model)

    def _find_model(self) -> WorldModel | Literal[False] | None:
        if not isinstance(self.model, ModelSettings):
            return self.model
        variables: dict[str, str] = {}
        if self.key_variable:
            key = os.environ.get(self.key_variable)
            if not key:
                raise UsageError(
                    f"the model at {self.model.url} needs a key, and the environment variable"
                    f" {self.key_variable} is not set here."
                )
            variables[KEY_VARIABLE] = key
        chosen = {one.name: getattr(self.model, one.name) for one in fields(self.model)}
        del chosen["api_key"]
        return WorldModel.find(environment=variables, **chosen)

    def _forget_key(self) -> None:
        """Keeps the name of the variable instead of the key itself."""
        model = self.model
        if not isinstance(model, ModelSettings) or not model.api_key:
            return
        name = self.key_variable or KEY_VARIABLE
        if os.environ.get(name) != model.api_key:
            raise UsageError(
                "a WorldSpec carries no API key. Put the key into an environment variable, here and"
                " where worlds are opened, and name it in key_variable"
                f" ({name} does not hold this one)."
            )
        object.__setattr__(self, "key_variable", name)
        object.__setattr__(self, "model", replace(model, api_key=""))


def _with_controls(
    scenario: Scenario | None, controls: Sequence[Mapping[str, Any]]
) -> Scenario | None:
    """The scenario with more declared controls.

    Raises:
        UsageError: a control is not one that a scenario can ask for.
    """
    if not controls:
        return scenario
    base = scenario or empty_scenario()
    try:
        both = [*base.controls, *(dict(one) for one in controls)]
        checked = Scenario.model_validate(
            {"name": base.name, "domains": base.domains, "controls": both}
        )
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        raise UsageError(f"the controls of the WorldSpec cannot be used: {problems}") from None
    return base.model_copy(update={"controls": checked.controls})


@lru_cache(maxsize=8)
def _shared_store(where: str, process: int) -> WorldStore:
    del process  # a connection must not be used on both sides of a fork
    return open_store(where)
