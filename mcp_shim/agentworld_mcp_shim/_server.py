"""The SDK's server in front of a mirror, in both protocol eras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from mcp.types import Implementation

from agentworld_mcp_shim._front import Front
from agentworld_mcp_shim._upstream import Listing
from agentworld_sim._version import __version__

if TYPE_CHECKING:
    from agentworld_sim.world import World


def own_listing(world: World) -> Listing:
    """The world's own tools, as an upstream would list them."""
    tools: list[dict[str, Any]] = []
    for tool in world.tools.values():
        if tool.access == "simulate":
            listed: dict[str, Any] = {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            }
            if tool.output_schema is not None:
                listed["outputSchema"] = tool.output_schema
            if tool.annotations:
                listed["annotations"] = tool.annotations
            tools.append(listed)
    return Listing(
        identity={"name": "agentworld", "version": __version__}, pages={None: {"tools": tools}}
    )


def build_server(front: Front) -> Server[Any]:
    """The SDK's server that shows the front's mirror and answers as the front says."""
    listing = front.mirror.listing
    identity = Implementation.model_validate(listing.identity)
    return Server(
        identity.name,
        version=identity.version,
        title=identity.title,
        description=identity.description,
        website_url=identity.website_url,
        icons=identity.icons,
        instructions=listing.instructions,
        on_list_tools=front.list_tools,
        on_call_tool=front.call_tool,
    )
