"""What is said of a tool that nobody answers: little to the agent, what to do about it to people."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agentworld_sim.runtime.access import rule_for

if TYPE_CHECKING:
    from agentworld_mcp_shim._mirror import MirroredTool
    from agentworld_sim.world import World

logger = logging.getLogger(__name__)


def refuse_call(world: World, tool: MirroredTool) -> str:
    """The error that an agent gets. The reason and the remedy are logged: it can do nothing with them."""
    problem = tool.problem or tool.examine()
    if problem is not None:
        logger.warning("%r is refused: %s. Its server's author has to mend it.", tool.name, problem)
        return f"{tool.name!r} was not called, and nothing was changed: {problem}."
    logger.warning("%s%s", world.refusal(tool.world_name), _remedy(world, tool))
    return f"{tool.name!r} was not called, and nothing was changed: it is not available here."


def _remedy(world: World, tool: MirroredTool) -> str:
    if rule_for(tool.world_name, world.scenario.access) is not None:
        return ""
    remedy = (
        " If it does what a known tool does, start with"
        f" `--bind {tool.name}=TOOLKIT/TOOL`, for example `--bind {tool.name}=terminal/bash`."
    )
    if rule_for(tool.world_name, world.scenario.routes.tools) is None:
        remedy += " Or name a language world model that imagines it: `--model-url URL`."
    return remedy
