"""The engines of a world, by name: the library's own, and those of packages with an entry point in the group
`agentworld.engines` that names a builder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.ports import Engine
from agentworld_sim.registry import Registry

if TYPE_CHECKING:
    from agentworld_sim.imagination import WorldImaginer
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.types.tools import Route

GUESSING = ("table", "model")
"""Engines that take tools nobody knows; they are asked last."""


@dataclass(frozen=True, kw_only=True)
class EngineSetup:
    """What an engine is built from."""

    scenario: Scenario
    model: WorldImaginer | None
    """The language world model, if there is one."""

    @cached_property
    def imagining(self) -> Engine | None:
        """The engine that imagines, if there is a model."""
        if self.model is None:
            return None
        from agentworld_sim.engines.table._imagined import TableRecords

        scenario = self.scenario
        briefing = scenario.model.to_briefing(scenario.instruction, scenario.machine.env)
        return self.model.engine(briefing, TableRecords(**self.tables))

    @property
    def tables(self) -> dict[str, Any]:
        """What the scenario says of operations and of tables."""
        scenario = self.scenario
        return {
            "operations": {n: spec.to_operation(n) for n, spec in scenario.operations.items()},
            "tables": {n: spec.to_table(n) for n, spec in scenario.tables.items()},
        }


Builder = Callable[[EngineSetup], Engine | None]
"""Builds an engine for a world; `None` where it has nothing to do in it."""


def _shell(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.shell import NobodyImagines, ShellEngine

    scenario, model = setup.scenario, setup.model
    machine, limits = scenario.machine.to_machine(), scenario.limits.to_shell_limits()
    commands = scenario.routes.commands
    if model is not None:
        briefing = scenario.model.to_briefing(scenario.instruction, scenario.machine.env)
        return ShellEngine(machine, limits, imaginer=model.imaginer(briefing), routes=commands)
    if not commands:
        return ShellEngine(machine, limits)
    # What no route names fails as on a real machine; what one names is refused aloud.
    routes: dict[str, Route] = {"*": "compute"}
    # Its place in a mapping is its rank: last, unless the scenario itself gives it another.
    routes = dict(commands) if "*" in commands else {**commands, **routes}
    return ShellEngine(machine, limits, imaginer=NobodyImagines(), routes=routes)


def _toolkits(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.toolkits import ToolkitEngine

    return ToolkitEngine()


def _browser(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.browser import BrowserEngine

    return BrowserEngine(behind=setup.imagining)


def _table(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.table import TableEngine

    return TableEngine(**setup.tables, behind=setup.imagining)


def _model(setup: EngineSetup) -> Engine | None:
    return setup.imagining


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
        "browser": _browser,
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
    browser, those of other packages by name, tables, and the model, if there is one."""
    setup = EngineSetup(scenario=scenario, model=model and model.within(scenario))
    return [engine for build in _builders() if (engine := build(setup)) is not None]
