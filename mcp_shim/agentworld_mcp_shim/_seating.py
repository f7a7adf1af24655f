"""Giving a world the mirror's tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from agentworld_mcp_shim._mirror import Mirror
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.world import World

logger = logging.getLogger(__name__)


async def with_tools(opening: Awaitable[World], mirror: Mirror, specs: Sequence[ToolSpec]) -> World:
    """The world once it is open and answers the mirror's tools."""
    world = await opening

    def bind() -> None:
        bound = world.add_tools(specs)
        mirror.examine([tool.name for tool in bound if tool.access == "simulate"])

    known = len(mirror.warnings)
    # In a thread, because thousands of tools take a while and a client is being served.
    await asyncio.to_thread(bind)
    for warning in mirror.warnings[known:]:
        logger.warning("%s", warning)
    return world


def nobody_answers(world: World, mirror: Mirror) -> str | None:
    """What to tell people when none of a mirror's tools is answered; `None` when one is."""
    names = [tool.world_name for tool in mirror.tools.values() if tool.problem is None]
    if not names or any(world.tools[name].access != "refuse" for name in names):
        return None
    return (
        f"none of the {len(names)} tools is answered here, each call gets an error that says why."
        " `agentworld mcp explain` shows what could be done; --model-url names a language world"
        " model that imagines them."
    )
