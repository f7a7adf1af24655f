"""What can be given in place of a world: anything that holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from agentworld_sim.world import World


@runtime_checkable
class HoldsWorld(Protocol):
    """Has a world as its `world`: a simulated tool, a tool node, the `world` fixture of the pytest
    plugin."""

    @property
    def world(self) -> World: ...


def world_in(given: World | HoldsWorld) -> World:
    """The world that is meant."""
    return given.world if isinstance(given, HoldsWorld) else given
