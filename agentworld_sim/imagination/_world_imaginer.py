"""What imagines for a world what it cannot compute: a model, or a tape of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from agentworld_sim.engines.shell import CommandImaginer
    from agentworld_sim.imagination._records import Records
    from agentworld_sim.imagination.briefing import Briefing
    from agentworld_sim.ports import Engine
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.world import World


class WorldImaginer(Protocol):
    """What `World.create(model=…)` takes. A `WorldModel` asks a server, a tape says again what was
    recorded; a tape may have no model and no settings."""

    @property
    def name(self) -> str:
        """The name of the model that answers; empty where nobody knows it."""
        ...

    def within(self, scenario: Scenario) -> WorldImaginer:
        """The same for the worlds of a scenario, with its limits."""
        ...

    def engine(self, briefing: Briefing | None = None, records: Records | None = None) -> Engine:
        """An engine that answers tools.

        Args:
            briefing: What the scenario tells a model.
            records: The world's records, if tools may work on them.
        """
        ...

    def imaginer(self, briefing: Briefing | None = None) -> CommandImaginer:
        """What answers the commands that a shell does not have."""
        ...

    def opened(self, world: World) -> None:
        """Says that `world` uses it."""
        ...

    async def closed(self, world: World) -> None:
        """Says that `world` does not use it any more."""
        ...
