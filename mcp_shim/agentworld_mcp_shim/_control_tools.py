"""Tools of the shim's own, by which a client looks after its world. They exist only when asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.types import CallToolResult, TextContent

from agentworld_mcp_shim._argument_errors import Schema, argument_errors
from agentworld_mcp_shim._keys import checked_name, owned_id, owner_of
from agentworld_mcp_shim._results import SIMULATED
from agentworld_sim.errors import UsageError
from agentworld_sim.runtime.world_history import new_world_id
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_mcp_shim._mirror import Mirror
    from agentworld_mcp_shim._pool import WorldPool
    from agentworld_sim.world import World

PREFIX = "agentworld_"

_WORLD = {
    "world": {"type": "string", "description": "The id of the world."},
    "turns": {
        "type": "integer",
        "description": "How many calls it has answered since its beginning.",
    },
    "ref": {"type": "string", "description": "The point of its history at which it stands."},
}


def _tool(
    name: str,
    title: str,
    description: str,
    properties: dict[str, Any],
    *,
    required: list[str] | None = None,
    **hints: bool,
) -> dict[str, Any]:
    return {
        "name": PREFIX + name,
        "title": title,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": required or [],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": _WORLD, "required": list(_WORLD)},
        "annotations": {"title": title, "openWorldHint": False, **hints},
    }


TOOLS = {
    tool["name"]: tool
    for tool in (
        _tool(
            "world",
            "Which world this is",
            "Says in which world the tools of this server work: its id, how many calls it has answered,"
            " and the point of its history at which it stands. Changes nothing.",
            {},
            readOnlyHint=True,
        ),
        _tool(
            "reset",
            "Back to the beginning",
            "Puts the world back to its beginning: whatever was created, changed or deleted through the"
            " tools of this server is undone. This cannot be taken back; fork first to keep the present"
            " state.",
            {},
            readOnlyHint=False,
            destructiveHint=True,
            idempotentHint=True,
        ),
        _tool(
            "fork",
            "Copy the world",
            "Makes a copy of the world as it is now and returns the copy's id. What is done in one of the"
            " two does not show in the other.",
            {
                "use": {
                    "type": "boolean",
                    "default": False,
                    "description": "Whether this session goes on in the copy. Otherwise it stays, and"
                    f" {PREFIX}use goes there later.",
                }
            },
            readOnlyHint=False,
            destructiveHint=False,
            idempotentHint=False,
        ),
        _tool(
            "use",
            "Go to another world",
            "Moves this session to the world of that id, such as a copy that was made before. The world"
            " it leaves stays as it is.",
            {"world": {"type": "string", "description": "The id, as another tool returned it."}},
            required=["world"],
            readOnlyHint=False,
            destructiveHint=False,
            idempotentHint=True,
        ),
    )
}
"""As `tools/list` shows them, by name."""


class WorldControls:
    """Answers calls of the control tools."""

    def __init__(self, pool: WorldPool, mirrors: Mapping[str, Mirror]) -> None:
        """
        Raises:
            UsageError: an upstream has a tool of one of these names.
        """
        self._pool = pool
        for mirror in mirrors.values():
            taken = [name for name in TOOLS if name in mirror.tools]
            if taken:
                raise UsageError(
                    f"--control-tools offers {', '.join(TOOLS)}, and the upstream has tools of its own"
                    f" named {', '.join(taken)}. Leave --control-tools out."
                )

    def listed(self) -> list[dict[str, Any]]:
        """The tools, as `tools/list` shows them."""
        return list(TOOLS.values())

    async def call(
        self, context: ServerRequestContext[Any], name: str, arguments: Mapping[str, Any]
    ) -> Any:
        """The result; `None` when it is no tool of these.

        Raises:
            AgentworldError: the world failed; it is as it was.
            MCPError: the request names a world that it may not use.
        """
        tool = TOOLS.get(name)
        if tool is None:
            return None
        wrong = argument_errors(name, Schema(tool["inputSchema"]), arguments)
        if wrong is not None:
            return _error(wrong)
        world = await self._pool.world(context)
        match name.removeprefix(PREFIX):
            case "fork":
                return await self._fork(context, world, use=arguments.get("use") is True)
            case "use":
                return await self._use(context, arguments["world"])
            case "reset":
                await world.rewind()
            case _:
                pass
        return await _position(world)

    async def _fork(self, context: ServerRequestContext[Any], world: World, *, use: bool) -> Any:
        key = self._pool.key(context)
        if use and key.redirectable is None:
            return _error(_NO_SESSION.format(source=key.source))
        world_id = new_world_id()
        if key.principal is not None:
            world_id = owner_of(key.principal) + world_id
        forked = await self._pool.fork(world, world_id, key)
        if use:
            assert self._pool.redirects is not None
            await self._pool.redirects.redirect(key, world_id)
        return await _position(forked)

    async def _use(self, context: ServerRequestContext[Any], name: str) -> Any:
        key = self._pool.key(context)
        if key.redirectable is None:
            return _error(_NO_SESSION.format(source=key.source))
        try:
            world_id = owned_id(name, key.principal) if key.over_http else checked_name(name)
        except MCPError as error:
            return _error(str(error))
        if not await self._pool.has(world_id):
            return _error(f"there is no world {name!r}.")
        assert self._pool.redirects is not None
        await self._pool.redirects.redirect(key, world_id)
        return await _position(await self._pool.world(context))


_NO_SESSION = (
    "this cannot be moved to another world: here every request says its world itself ({source})."
    " Name the world there, in the header Agentworld-World or in `_meta`."
)


async def _position(world: World) -> CallToolResult:
    # As the store has it: another process may have moved the world on.
    record = await asyncio.to_thread(world.store.world, world.id)
    said = {"world": record.id, "turns": record.turns, "ref": record.head}
    return CallToolResult(
        content=[TextContent(type="text", text=json.dumps(said))],
        structured_content=said,
        _meta={SIMULATED: {"world": record.id, "ref": record.head, "provenance": "enforced"}},
    )


def _error(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
