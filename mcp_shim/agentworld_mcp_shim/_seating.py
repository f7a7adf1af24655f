"""Giving a world the mirror's tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentworld_mcp_shim._mirror import Mirror
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from agentworld_sim.world import World

logger = logging.getLogger(__name__)


async def with_tools(opening: Awaitable[World], mirror: Mirror, specs: Sequence[ToolSpec]) -> World:
    """The world once it is open and answers the mirror's tools."""
    world = await opening

    def bind() -> None:
        bound = world.add_tools(specs)
        for asked, given in zip(specs, bound, strict=True):
            if asked.binds_to is not None:
                require_arguments(asked, given)
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


def require_arguments(asked: ToolSpec, bound: ToolSpec) -> None:
    """Raises `UsageError` when a binding that was asked for does not exist or does not fit the tool."""
    from agentworld_sim.engines.shell import bindings
    from agentworld_sim.engines.toolkits import server_tools

    kit = (asked.binds_to or "").partition("/")[0]
    kits = list(dict.fromkeys(one.partition("/")[0] for one in (*bindings(), *server_tools())))
    if bound.binds_to is None or kit not in (*kits, "table", "model"):
        raise UsageError(
            f"--bind {asked.name}={asked.binds_to}: there is no toolkit {kit!r}."
            f"{nearest(kit, kits)} There are: {', '.join(kits)}."
        )
    binding = bindings().get(bound.binds_to)
    needed: Sequence[str] = binding.input_schema.get("required", ()) if binding else ()
    taken: Mapping[str, Any] = asked.input_schema.get("properties", {})
    missing = [name for name in needed if name not in taken]
    if missing:
        raise UsageError(
            f"--bind {asked.name}={asked.binds_to}: that binding needs {', '.join(missing)}, and"
            f" {asked.name!r} takes {', '.join(taken) or 'no arguments'}. They are different tools."
        )
