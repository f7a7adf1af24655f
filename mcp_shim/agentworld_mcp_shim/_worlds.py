"""Which world answers: kept outside the process, so that a client that starts one per call finds it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentworld_sim.cli.command_options import ModelChoice
from agentworld_sim.errors import UnknownWorldError, UsageError
from agentworld_sim.types.tools import Access

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.ports import Engine
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.store import WorldRecord, WorldStore
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
    empty: bool = False
    """Whether the tables of a new world begin without made-up records."""
    seed_from: Path | None = None
    """Cassette whose records a new world begins with."""
    controls: Path | None = None
    """File of controls that every world is given."""
    replay: Path | None = None
    """Cassette that answers every call, instead of engines that compute or imagine."""
    volatile: tuple[str, ...] = ()
    """Fields whose values make no difference between a recorded call and one that is replayed."""


def check_choice(choice: WorldChoice) -> None:
    """Raises `UsageError` when the choice contradicts itself."""
    if choice.memory and choice.store is not None:
        raise UsageError(
            "--memory keeps nothing, and --store says where to keep. Give one of them."
        )


@dataclass(frozen=True, slots=True)
class _Means:
    """What every world of this process is opened with."""

    world: type[World]
    scenario: Scenario | None
    store: WorldStore
    model: WorldModel | None
    engines: Sequence[Engine] | None
    """`None` for those of the scenario."""
    controls: Sequence[Mapping[str, Any]]


class WorldOpener:
    """Opens the worlds that the command line allows, or makes them.

    The store is opened and the scenario read once, in a thread, with everything that they import: the
    protocol must not wait for it.
    """

    def __init__(self, choice: WorldChoice, access: Mapping[str, Access] | None = None) -> None:
        self.choice = choice
        self._access = access
        self._means: asyncio.Task[_Means] | None = None

    @property
    def begun(self) -> bool:
        """Whether the store is open, or being opened."""
        return self._means is not None

    async def store(self) -> WorldStore:
        """Where the worlds live.

        Raises:
            AgentworldError: the store or the scenario cannot be used.
        """
        return (await self._ready()).store

    async def open(
        self,
        world_id: str,
        *,
        fresh: bool = False,
        gone: Callable[[WorldRecord], bool] = lambda record: False,
        admit: Callable[[], Awaitable[None]] | None = None,
    ) -> World:
        """The world of that id, as any process left it; a new one if there is none.

        Args:
            fresh: Whether there is hardly one yet, so that it is not looked for first.
            gone: Whether a world that is there counts as removed; then it is, first.
            admit: Called before a new one is made; may raise.

        Raises:
            UsageError: a world of that id exists and began with another scenario.
            AgentworldError: the store or the scenario cannot be used.
        """
        means = await self._ready()
        for last in (False, True):
            if not fresh or last:
                try:
                    record = await asyncio.to_thread(means.store.world, world_id)
                    if not gone(record):
                        return await self._open_world(means, record)
                    await asyncio.to_thread(means.store.remove, world_id)
                except UnknownWorldError:
                    pass
            if admit is not None:
                await admit()
            try:
                made = await means.world.create(
                    means.scenario,
                    id=world_id,
                    store=means.store,
                    model=means.model,
                    engines=means.engines,
                    access=self._access,
                )
                return await _with_controls(made, means.controls)
            except UsageError:
                # Another process may have made it just now; if not, the second round says why.
                if last:
                    raise
        raise AssertionError

    async def close(self) -> None:
        """Closes the store, if it was opened."""
        means = self._means
        if means is not None:
            await asyncio.wait({means})
            if not means.cancelled() and means.exception() is None:
                means.result().store.close()

    async def _ready(self) -> _Means:
        if self._means is None:
            self._means = asyncio.create_task(asyncio.to_thread(_means, self.choice))
            self._means.add_done_callback(self._forget_failure)
        return await asyncio.shield(self._means)

    def _forget_failure(self, means: asyncio.Task[_Means]) -> None:
        if means.cancelled() or means.exception() is not None:
            # A store that cannot be reached now may be there when somebody asks again.
            self._means = None

    async def _open_world(self, means: _Means, record: WorldRecord) -> World:
        began: str = json.loads(record.scenario)["name"]
        named = self.choice.scenario is not None
        if named and means.scenario is not None and means.scenario.name != began:
            raise UsageError(
                f"the world {record.id!r} began with the scenario {began!r}, and --scenario says"
                f" {means.scenario.name!r}. Leave --scenario out, or choose another id."
            )
        opened = await means.world.open(
            record.id,
            store=means.store,
            model=means.model,
            engines=means.engines,
            access=self._access,
        )
        return await _with_controls(opened, means.controls)


async def _with_controls(world: World, controls: Sequence[Mapping[str, Any]]) -> World:
    """The world, with these declared; one of the same name gives way."""
    from agentworld_sim.controls.control_list import declarations_of

    declared = {str(one.get("name")): one for one in declarations_of(await world.state())}
    named = {str(one.get("name")): one for one in controls}
    new = {name: one for name, one in named.items() if declared.get(name) != one}
    if new:
        gone = [name for name in new if name in declared]
        await world.switch_controls(add=new.values(), remove=gone)
    return world


def _means(choice: WorldChoice) -> _Means:
    from agentworld_sim.scenario import Scenario, read_controls
    from agentworld_sim.store import MemoryStore
    from agentworld_sim.store.home import open_store
    from agentworld_sim.world import World

    controls = () if choice.controls is None else read_controls(choice.controls)
    scenario = None if choice.scenario is None else Scenario.load(choice.scenario)
    if choice.seed_from is not None:
        scenario = with_recorded_records(scenario, choice.seed_from)
    if choice.empty:
        from agentworld_sim.scenario import empty_scenario
        from agentworld_sim.scenario.tables import TableSpec

        begun = scenario or empty_scenario()
        tables = {"*": TableSpec(generate=0), **begun.tables}
        scenario = begun.model_copy(update={"tables": tables})
    model, engines = None, None
    if choice.replay is None:
        model = choice.model.find()
    else:
        from agentworld_sim.cassette import Cassette
        from agentworld_sim.cassette.replay import ReplayEngine

        cassette = Cassette.load(choice.replay)
        engines = [ReplayEngine(cassette, volatile=choice.volatile, path=choice.replay)]
    store = MemoryStore() if choice.memory else open_store(choice.store)
    return _Means(World, scenario, store, model, engines, controls)


def with_recorded_records(scenario: Scenario | None, path: Path) -> Scenario:
    """The scenario with the records of a cassette in its tables, beside its own.

    The records stand in the scenario, so a world that began so is reopened without the cassette.

    Raises:
        UsageError: it is no cassette, shows no records, or shows some that the scenario's tables do not
            allow.
    """
    from pydantic import ValidationError

    from agentworld_sim.cassette import Cassette
    from agentworld_sim.engines.table import plan_of
    from agentworld_sim.engines.table.seeds import records_from, with_records
    from agentworld_sim.scenario import empty_scenario
    from agentworld_sim.scenario.tables import TableSpec

    begun = scenario or empty_scenario()
    cassette = Cassette.load(path)
    plan = plan_of(
        # As a client was shown them: nothing else has bound them yet.
        [replace(tool, domain="mcp") for tool in cassette.tools],
        operations={name: spec.to_operation(name) for name, spec in begun.operations.items()},
        tables={name: spec.to_table(name) for name, spec in begun.tables.items()},
    )
    tools = {tool.name: tool for tool in cassette.tools}
    records = records_from(cassette.trajectory.turns, plan, tools=tools)
    if not records:
        raise UsageError(
            f"--seed-from {str(path)!r}: its calls show no records that a tool's operation explains."
            " `agentworld mcp explain` shows how the tools are understood."
        )
    tables = dict(begun.tables)
    for name, table in with_records(plan, records).items():
        if name not in records:
            continue
        said = tables.get(name, TableSpec()).model_dump(mode="json", exclude_unset=True)
        try:
            tables[name] = TableSpec.model_validate({**said, "records": list(table.records)})
        except ValidationError as error:
            raise UsageError(
                f"--seed-from {str(path)!r}: its records do not fit the scenario's table {name!r}:"
                f" {error.errors()[0]['msg']}"
            ) from error
    return begun.model_copy(update={"tables": tables})
