"""Tools of the shim's own, by which a client looks after its world. They exist only when asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult, TextContent

from agentworld_mcp_shim._results import SIMULATED
from agentworld_mcp_shim._world_keys import owner_prefix
from agentworld_sim.errors import ArgumentsError, UsageError
from agentworld_sim.runtime.world_history import new_world_id
from agentworld_sim.schema.validate import check_arguments
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_mcp_shim._mirror import Mirror
    from agentworld_mcp_shim._pool import WorldPool
    from agentworld_sim.world import World

_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}

_WORLD = {
    "world": {"type": "string", "description": "The id of the world."},
    "turns": {
        "type": "integer",
        "description": "How many calls it has answered since its beginning.",
    },
    "ref": {"type": "string", "description": "The point of its history at which it stands."},
}


def _tool(name: str, title: str, description: str, **hints: bool) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": _NO_ARGUMENTS,
        "outputSchema": {"type": "object", "properties": _WORLD, "required": list(_WORLD)},
        "annotations": {"title": title, "openWorldHint": False, **hints},
    }


TOOLS = (
    _tool(
        "agentworld_world",
        "Which world this is",
        "Says in which world the tools of this server work: its id, how many calls it has answered,"
        " and the point of its history at which it stands. Changes nothing.",
        readOnlyHint=True,
    ),
    _tool(
        "agentworld_reset",
        "Back to the beginning",
        "Puts the world back to its beginning: whatever was created, changed or deleted through the"
        " tools of this server is undone. This cannot be taken back; fork first to keep the present"
        " state.",
        readOnlyHint=False,
        destructiveHint=True,
        idempotentHint=True,
    ),
    _tool(
        "agentworld_fork",
        "Copy the world",
        "Makes a copy of the world as it is now and returns the copy's id. What is done in one of the"
        " two does not show in the other.",
        readOnlyHint=False,
        destructiveHint=False,
        idempotentHint=False,
    ),
)
"""As `tools/list` shows them."""

NAMES = tuple(str(tool["name"]) for tool in TOOLS)


class WorldControls:
    """Answers calls of the control tools."""

    def __init__(self, pool: WorldPool, mirrors: Mapping[str, Mirror]) -> None:
        """
        Raises:
            UsageError: an upstream has a tool of one of these names.
        """
        self._pool = pool
        for mirror in mirrors.values():
            taken = [name for name in NAMES if name in mirror.tools]
            if taken:
                raise UsageError(
                    f"--control-tools offers {', '.join(NAMES)}, and the upstream has tools of its own"
                    f" named {', '.join(taken)}. Leave --control-tools out."
                )

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools, as `tools/list` shows them."""
        return list(TOOLS)

    async def call(
        self, context: ServerRequestContext[Any], name: str, arguments: Mapping[str, Any]
    ) -> CallToolResult | None:
        """The result; `None` when it is no tool of these.

        Raises:
            AgentworldError: the world failed; it is as it was.
            MCPError: the request names a world that it may not use.
        """
        if name not in NAMES:
            return None
        try:
            check_arguments(ToolSpec(name=name, input_schema=_NO_ARGUMENTS), arguments)
        except ArgumentsError as error:
            return CallToolResult(
                content=[TextContent(type="text", text=str(error))], is_error=True
            )
        world = await self._pool.world(context)
        if name == "agentworld_reset":
            await world.rewind()
        elif name == "agentworld_fork":
            key = self._pool.key(context)
            copy = owner_prefix(key.principal) + new_world_id()
            world = await self._pool.fork(world, copy, key)
        return await _position(world)


async def _position(world: World) -> CallToolResult:
    # As the store has it: another process may have moved the world on.
    record = await asyncio.to_thread(world.store.world, world.id)
    said = {"world": record.id, "turns": record.turns, "ref": record.head}
    return CallToolResult(
        content=[TextContent(type="text", text=json.dumps(said))],
        structured_content=said,
        _meta={SIMULATED: {"world": record.id, "ref": record.head, "provenance": "enforced"}},
    )
