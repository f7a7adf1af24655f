"""What can be given in place of a world: anything that holds one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_sim.world import World


@runtime_checkable
class HoldsWorld(Protocol):
    """Has a world as its `world`: a simulated tool, a tool node, the `world` fixture of the pytest
    plugin."""

    @property
    def world(self) -> World: ...


def world_in(given: World | HoldsWorld) -> World:
    """The world that is meant.

    Raises:
        UsageError: it is neither a world nor something that holds one.
    """
    from agentworld_sim.world import World

    found: Any = given.world if isinstance(given, HoldsWorld) else given
    if not isinstance(found, World):
        raise UsageError(
            f"a world is wanted, not {type(found).__name__!r}. Make one (`await World.create(…)`), or"
            " give what holds one: a simulated tool, a tool node, the fixture `world`."
        )
    return found
