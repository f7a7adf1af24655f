"""What a world is put together from: its first state, its model and its engines.

The only module that knows scenarios, engines and models. The engines are found by name: the library's own, and
those of packages with an entry point in the group `agentworld.engines` that names a builder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urlsplit

from agentworld_sim.controls.control_list import DECLARED
from agentworld_sim.errors import UsageError
from agentworld_sim.extras import require
from agentworld_sim.ports import BindsTogether, Engine, EngineSession, Imaginer, WorldImaginer
from agentworld_sim.ports.stores import NewBlobs, WorldRecord, WorldStore
from agentworld_sim.registry import Registry
from agentworld_sim.runtime.world_history import record_of_world
from agentworld_sim.scenario import Scenario, stored_text, withheld_values
from agentworld_sim.toolkits import bind_to, unknown_to
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.refs import hash_ref
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import Route, ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.engines.shell import Machine, ShellLimits
    from agentworld_sim.engines.web.requests import Internet
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.relational.base_data import BaseData


def new_world(
    world_id: str, scenario: Scenario, store: WorldStore
) -> tuple[WorldRecord, WorldState, NewBlobs]:
    """The record, the first state and the contents of a world that is to be stored."""
    blobs = NewBlobs(store.blobs)
    state = initial_state(scenario, blobs)
    root = hash_ref("root", {"scenario": scenario.canonical(), "seed": scenario.seed})
    record = record_of_world(world_id, root, stored_text(scenario))
    return record, state, blobs


def with_packages(scenario: Scenario) -> Scenario:
    """The scenario with each wheel of its machine's packages pinned by name and content.

    Raises:
        UsageError: a program that it names or the extra `machine` is not installed, or a wheel is missing, broken or
            of no use to the machine.
    """
    machine = scenario.machine
    if machine.programs:
        from agentworld_sim.engines.shell.commands import programs_of

        programs_of(scenario.to_machine())
    if not machine.packages:
        return scenario
    require("resolvelib", extra="machine")
    require("packaging", extra="machine")
    from agentworld_sim.engines.shell.wasi.package_layer import pinned_packages

    folder = (scenario.base_dir or Path()) / machine.wheels if machine.wheels else None
    packages, pins = pinned_packages(machine.packages, folder, machine.pinned_wheels)
    update = {"packages": packages, "wheels": None, "pinned_wheels": pins}
    machine = machine.model_copy(update=update)
    return scenario.model_copy(update={"machine": machine})


def initial_state(scenario: Scenario, blobs: NewBlobs) -> WorldState:
    from agentworld_sim.engines.shell.image import base_tree

    clock_us = scenario.clock_us
    tree = base_tree(scenario.to_machine(), clock_us, blobs)
    tree = tree.with_entries(scenario.initial_tree(blobs), directory_mtime_us=clock_us)
    declared = [one for control in scenario.controls for one in control.to_data()]
    values: dict[str, Any] = {DECLARED: declared} if declared else {}
    values |= _internet(scenario)
    if scenario.sites:
        require("jinja2", extra="browser")
        from agentworld_sim.sites.site_internet import check_sites, first_records

        check_sites(scenario)
        values |= first_records(scenario)
    return WorldState(files=tree, clock_us=clock_us, seed=scenario.seed, values=values)


def _internet(scenario: Scenario) -> dict[str, Any]:
    """What the search engine reads: the pages of the fictional world by their hash, the scenario's own, and the
    values that no search result may show."""
    values: dict[str, Any] = {
        f"search/page/{url}": page.model_dump() for url, page in scenario.pages.items()
    }
    if scenario.fiction is not None:
        from agentworld_sim.fiction.page_base import fiction_base

        recipe = scenario.fiction.recipe()
        content = fiction_base(recipe).content
        values["search/base"] = {"recipe": asdict(recipe), "content": content}
    if values and (withheld := withheld_values(scenario.goals)):
        values["search/withheld"] = withheld
    return values


def open_base(named: Mapping[str, Any]) -> BaseData:
    """The base data that a world's state names; on another machine it is built again from its recipe."""
    from agentworld_sim.fiction.page_base import fiction_base
    from agentworld_sim.fiction.recipe import FictionRecipe

    return fiction_base(FictionRecipe(**named["recipe"]), named["content"])


def model_for(
    scenario: Scenario, model: WorldImaginer | str | Literal[False] | None
) -> WorldImaginer | None:
    """The model of a world: the one given, else what the environment or the scenario names."""
    if model is False:
        return None
    if model is not None and not isinstance(model, str):
        return model
    return named_model(scenario, model)


def named_model(scenario: Scenario, model: str | None = None) -> WorldModel | None:
    """The model that a URL, the environment or the scenario names."""
    spec = scenario.model
    url = model or os.environ.get("AGENTWORLD_MODEL_URL")
    named = url or spec.url
    if not named:
        return None
    from agentworld_sim.imagination import WorldModel
    from agentworld_sim.llm.transport import is_loopback

    variables = dict(os.environ)
    if not url and not is_loopback(urlsplit(named).hostname or ""):
        # A scenario may come from anybody: what it names is not given the user's key.
        variables.pop("AGENTWORLD_API_KEY", None)
    name = variables.get("AGENTWORLD_MODEL") or spec.name
    return WorldModel.find(url=named, model=name, environment=variables)


async def engines_and_model(
    scenario: Scenario,
    engines: Sequence[Engine] | None,
    model: WorldImaginer | str | Literal[False] | None,
    answers: Mapping[str, object] | None = None,
) -> tuple[Sequence[Engine], WorldImaginer | None]:
    """What answers in a world: first the stubs (`answers` beside the scenario's), then the engines, by default
    `default_engines`. Engines that are given bring their model.

    Raises:
        UsageError: both are given, or an answer is nothing that can be answered with.
    """
    from agentworld_sim.engines.stubs import StubEngine

    stubs = StubEngine({name: one.data() for name, one in scenario.answers.items()})
    stubs = stubs.with_answers(answers or {})
    if engines is None:
        # They read files: prompts, the machine's.
        found = await asyncio.to_thread(model_for, scenario, model)
        made = await asyncio.to_thread(default_engines, scenario, found)
        return [stubs, *made], found
    if model:
        raise UsageError(
            "engines=… and model=… both say what answers. Put `ModelEngine(model.imaginer())`"
            " among the engines."
        )
    return [stubs, *engines], None


def with_answers(scenario: Scenario, answers: Mapping[str, object]) -> Scenario:
    """The scenario with more answers, of functions their names.

    Raises:
        UsageError: one is nothing that can be answered with.
    """
    from agentworld_sim.engines.stubs import stub_data
    from agentworld_sim.scenario import AnswerSpec

    if not answers:
        return scenario
    more = {name: AnswerSpec(**stub_data(name, one)) for name, one in answers.items()}
    return scenario.model_copy(update={"answers": {**scenario.answers, **more}})


GUESSING = ("compiled", "table", "model")
"""Engines that take tools nobody knows; they are asked last."""

PROGRAMS_VARIABLE = "AGENTWORLD_PROGRAMS"
"""Names a file of `agentworld bench compile`; an experiment."""


@dataclass(frozen=True, kw_only=True)
class EngineSetup:
    """What an engine is built from."""

    scenario: Scenario
    imaginer: Imaginer | None
    """Answers what cannot be computed, if there is a model."""


Builder = Callable[[EngineSetup], Engine | None]
"""Builds an engine for a world; `None` where it has nothing to do in it."""


def _shell(setup: EngineSetup) -> Engine:
    scenario = setup.scenario
    routes = tuple(scenario.routes.commands.items())

    def make() -> Engine:
        about = with_packages(scenario).to_machine(), scenario.limits.to_shell_limits()
        internet = partial(internet_of, scenario) if about[0].has_internet else None
        if setup.imaginer is None and internet is None:
            return _shared_shell(*about, routes)
        from agentworld_sim.engines.shell import ShellEngine

        return ShellEngine(*about, imaginer=setup.imaginer, routes=dict(routes), internet=internet)

    # Routes that cannot be are refused when the world is made.
    return make() if routes else LateShell("shell", make)


@lru_cache(maxsize=8)
def _shared_shell(
    machine: Machine, limits: ShellLimits, routes: tuple[tuple[str, Route], ...]
) -> Engine:
    """One for all worlds with such a machine: what one has brought up, the next can use."""
    from agentworld_sim.engines.shell import ShellEngine

    return ShellEngine(machine, limits, routes=dict(routes))


class LateEngine:
    """Implements `Engine` and `BindsTogether` by an engine that is imported when there is a tool for it: most
    worlds use one."""

    route: Literal["compute"] = "compute"

    def __init__(self, name: str, make: Callable[[], Engine]) -> None:
        self.name = name
        self._make = make

    @cached_property
    def engine(self) -> Engine:
        """The engine itself."""
        return self._make()

    def binder(self, among: Sequence[ToolSpec]) -> Callable[[ToolSpec], ToolSpec | None]:
        engine = self.engine
        return engine.binder(among) if isinstance(engine, BindsTogether) else engine.bind

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return self.engine.bind(tool)

    def refusal(self, tool: ToolSpec) -> str:
        return self.engine.refusal(tool)

    async def open(self, state: WorldState, blobs: Blobs) -> EngineSession:
        if "engine" not in vars(self):
            await asyncio.to_thread(getattr, self, "engine")
        return await self.engine.open(state, blobs)


class LateShell(LateEngine):
    """Binds well-known tools only, for which the shell need not be imported."""

    def binder(self, among: Sequence[ToolSpec]) -> Callable[[ToolSpec], ToolSpec | None]:
        return self.bind

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return bind_to(tool, self.name)

    def refusal(self, tool: ToolSpec) -> str:
        return unknown_to(tool, self.name)


def _toolkits(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.toolkits import ToolkitEngine

    return ToolkitEngine()


def _web(setup: EngineSetup) -> Engine:
    def make() -> Engine:
        from agentworld_sim.engines.web import WebEngine

        scenario = setup.scenario
        return WebEngine(
            setup.imaginer, internet_of(scenario), workspace=scenario.machine.workdir_path
        )

    return LateEngine("web", make)


def _search(setup: EngineSetup) -> Engine:
    scenario = setup.scenario

    def make() -> Engine:
        from agentworld_sim.engines.search import SearchEngine

        return SearchEngine(open_base, has_pages=bool(scenario.fiction or scenario.pages))

    return LateEngine("search", make)


def internet_of(scenario: Scenario) -> Internet | None:
    """The internet of a scenario's worlds: its sites, and the pages that can be searched; `None` without any."""
    parts: list[Internet] = []
    if scenario.sites:
        require("jinja2", extra="browser")
        from agentworld_sim.sites.site_internet import scenario_internet

        if (sites := scenario_internet(scenario)) is not None:
            parts.append(sites)
    if scenario.fiction or scenario.pages:
        from agentworld_sim.engines.search.page_internet import PageInternet

        parts.append(PageInternet(open_base))
    if not parts:
        return None
    from agentworld_sim.engines.web.requests import JoinedInternet

    return JoinedInternet(parts)


def _programs(setup: EngineSetup) -> Engine | None:
    path = os.environ.get(PROGRAMS_VARIABLE)
    if not path:
        return None
    from agentworld_sim.engines.program import CompiledEngine, load_programs
    from agentworld_sim.engines.table import TableEngine

    tables = TableEngine(**setup.scenario.table_options())
    return CompiledEngine(load_programs(Path(path)), tables, setup.imaginer)


def _table(setup: EngineSetup) -> Engine:
    def make() -> Engine:
        from agentworld_sim.engines.table import TableEngine

        return TableEngine(**setup.scenario.table_options(), imaginer=setup.imaginer)

    return LateEngine("table", make)


def _model(setup: EngineSetup) -> Engine | None:
    if setup.imaginer is None:
        return None
    from agentworld_sim.engines.model import ModelEngine
    from agentworld_sim.engines.table import TableEngine

    return ModelEngine(setup.imaginer, TableEngine(**setup.scenario.table_options()))


def _read(value: object) -> Builder:
    if not callable(value):
        raise TypeError(f"{value!r} is no function that takes an EngineSetup and gives an Engine")
    return cast("Builder", value)


engines = Registry[Builder](
    "agentworld.engines",
    what="engine",
    builtin=lambda: {
        "shell": _shell,
        "toolkits": _toolkits,
        "web": _web,
        "search": _search,
        "compiled": _programs,
        "table": _table,
        "model": _model,
    },
    read=_read,
)
"""The builders of engines by name."""


@lru_cache(maxsize=1)
def _builders() -> tuple[Builder, ...]:
    found = engines.all()
    last = [found.pop(name) for name in GUESSING]
    return (*found.values(), *last)


def default_engines(scenario: Scenario, model: WorldImaginer | None) -> list[Engine]:
    """The engines of a world, in the order in which they are asked: the shell, well-known servers, the
    browser, the search engine, those of other packages by name, programs, tables, and the model, if there is one."""
    imaginer = None
    if model is not None:
        imaginer = model.imaginer(scenario.to_prompt_context(), scenario.model.limits())
    setup = EngineSetup(scenario=scenario, imaginer=imaginer)
    return [engine for build in _builders() if (engine := build(setup)) is not None]
