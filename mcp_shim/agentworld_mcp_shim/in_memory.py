"""The shim's server in front of a world that is open in this process."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mcp.server.lowlevel import Server
from mcp.types import Tool

from agentworld_mcp_shim._handlers import MirrorHandlers, MirrorServer
from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import Mirror, tool_entry, tools_listing, world_listing
from agentworld_mcp_shim._snapshot_file import load_snapshot
from agentworld_mcp_shim._tool_calls import ToolCalls
from agentworld_sim.errors import UsageError
from agentworld_sim.types.tools import ToolSpec

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_sim.world import World


def world_server(
    world: World,
    tools: Any = None,
    *,
    binds_to: Mapping[str, str] | None = None,
    folder: Path | None = None,
    without: Collection[str] = (),
) -> Server[Any]:
    """A low-level MCP server whose tools `world` answers; connect a client with `Client(server)`.

    Args:
        world: The world; it is given the tools.
        tools: The file of a saved tool listing, the result of `tools/list`, or a list of tools
            (objects of `tools/list`, `mcp.types.Tool` or `ToolSpec`); the world's own by default.
        binds_to: Binding ids by tool name, for tools that are given.
        folder: Where a relative path of a listing begins; the working directory by default.
        without: Names of the world's own tools that are left out.

    Raises:
        UsageError: the tools cannot be read, or one cannot be bound as asked.
    """
    mirror = Mirror(_listing(world, tools, folder or Path(), without))
    if tools is not None:
        mirror.bind_at_once(world, mirror.specs(binds_to or {}))
    elif binds_to:
        raise UsageError("binds_to goes with tools that are given; the world's own are bound.")

    async def worlds(context: ServerRequestContext[Any]) -> World:
        return world

    return MirrorServer(MirrorHandlers(mirror, worlds, ToolCalls()))


def _listing(world: World, tools: Any, folder: Path, without: Collection[str]) -> Listing:
    if tools is None:
        own = world_listing(world).items("tools/list")
        return tools_listing([tool for tool in own if tool["name"] not in without])
    if isinstance(tools, str | Path):
        return load_snapshot(folder / tools)
    given, what = tools, f"of type {type(tools).__name__!r}"
    if isinstance(tools, Mapping):
        keys = cast("Mapping[str, Any]", tools)
        given, what = keys.get("tools"), f"a mapping with {', '.join(map(repr, keys)) or 'nothing'}"
    if isinstance(given, Sequence) and not isinstance(given, str):
        return tools_listing([_tool(tool) for tool in cast("Sequence[Any]", given)])
    raise UsageError(
        f"the tools of the server are {what}: give the file of a snapshot, the result of `tools/list`, which"
        " has a list 'tools', or a list of tools."
    )


def _tool(tool: Any) -> dict[str, Any]:
    """A tool as `tools/list` has it."""
    if isinstance(tool, Tool):
        return tool.model_dump(by_alias=True, exclude_none=True, mode="json")
    if isinstance(tool, ToolSpec):
        return tool_entry(tool)
    if isinstance(tool, Mapping):
        return dict(cast("Mapping[str, Any]", tool))
    raise UsageError(
        f"among the tools of the server is {tool!r:.80}. A tool is an object of `tools/list`, an mcp.types.Tool"
        " or a ToolSpec."
    )
