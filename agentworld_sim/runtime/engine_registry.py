"""The engines of a world, by name: the library's own, and those of packages with an entry point in the group
`agentworld.engines` that names a builder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.ports import Engine
from agentworld_sim.registry import Registry

if TYPE_CHECKING:
    from agentworld_sim.ports import Imaginer, WorldImaginer
    from agentworld_sim.scenario import Scenario

GUESSING = ("table", "model")
"""Engines that take tools nobody knows; they are asked last."""


@dataclass(frozen=True, kw_only=True)
class EngineSetup:
    """What an engine is built from."""

    scenario: Scenario
    imaginer: Imaginer | None
    """Answers what cannot be computed, if there is a model."""

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
    from agentworld_sim.engines.shell import ShellEngine

    scenario = setup.scenario
    return ShellEngine(
        scenario.machine.to_machine(),
        scenario.limits.to_shell_limits(),
        imaginer=setup.imaginer,
        routes=scenario.routes.commands,
    )


def _toolkits(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.toolkits import ToolkitEngine

    return ToolkitEngine()


def _browser(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.browser import BrowserEngine

    return BrowserEngine(setup.imaginer)


def _table(setup: EngineSetup) -> Engine:
    from agentworld_sim.engines.table import TableEngine

    return TableEngine(**setup.tables, imaginer=setup.imaginer)


def _model(setup: EngineSetup) -> Engine | None:
    if setup.imaginer is None:
        return None
    from agentworld_sim.engines.model import ModelEngine
    from agentworld_sim.engines.table import TableEngine

    return ModelEngine(setup.imaginer, TableEngine(**setup.tables))


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
    imaginer = None
    if model is not None:
        imaginer = model.imaginer(scenario.to_briefing(), scenario.model.limits())
    setup = EngineSetup(scenario=scenario, imaginer=imaginer)
    return [engine for build in _builders() if (engine := build(setup)) is not None]
