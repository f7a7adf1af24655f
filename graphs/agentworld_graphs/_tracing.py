"""What callbacks and tracers are told of a simulated call, for people. Agents are never shown it.

At its start only the world is known; the point of its history and where the answer came from are added
to the runs of tracers when the call has been answered, and are in the message that `on_tool_end` gets.
"""

from __future__ import annotations

from typing import Any

from langchain_core.tracers.base import BaseTracer

from agentworld_graphs._refs import Mark
from agentworld_sim import World

METADATA_KEY = "agentworld_world"
"""The world's id."""

SIMULATED = "simulated"
"""The tag of a call that a world answers."""

PREFIX = "agentworld_"


def told_at_start(world: World) -> dict[str, Any]:
    """The metadata of a call before it is answered."""
    told: dict[str, Any] = {METADATA_KEY: world.id, f"{PREFIX}simulated": True}
    if world.model is not None and world.model.name:
        told[f"{PREFIX}model"] = world.model.name
    return told


def tell_tracers(run: Any, mark: Mark) -> None:
    """Adds to the metadata of a call's run what is known of it now.

    Args:
        run: The callback manager of the call.
        mark: What its message carries.
    """
    if run is None:
        return
    for handler in run.handlers:
        traced = isinstance(handler, BaseTracer) and handler.run_map.get(str(run.run_id))
        if traced:
            traced.metadata.update({f"{PREFIX}{name}": value for name, value in mark.items()})
