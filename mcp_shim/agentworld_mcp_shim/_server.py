"""The SDK's server in front of a mirror, in both protocol eras."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import NotificationOptions, Server
from mcp.types import Implementation, ServerCapabilities, SubscriptionsListenRequestParams
from pydantic import ValidationError

from agentworld_mcp_shim._front import Front
from agentworld_mcp_shim._listing import Listing
from agentworld_sim import __version__

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
        identity={"name": "agentworld", "version": __version__},
        lists={"tools/list": {None: {"tools": tools}}},
    )


def build_server(front: Front) -> Server[Any]:
    """The SDK's server that shows the front's mirror and answers as the front says."""
    return _MirrorServer(front)


class _MirrorServer(Server[Any]):
    """Has handlers for exactly what the upstream offers, and shows its capabilities as they came."""

    def __init__(self, front: Front) -> None:
        mirror = front.mirror
        listing = mirror.listing
        identity = Implementation.model_validate(listing.identity)
        super().__init__(
            identity.name,
            version=identity.version,
            title=identity.title,
            description=identity.description,
            website_url=identity.website_url,
            icons=identity.icons,
            instructions=listing.instructions,
            # Otherwise the SDK lists all tools for every call over HTTP.
            get_tool_input_schema=front.input_schema,
        )
        self._shown = _capabilities(front)
        for method, (params, handler) in front.handlers().items():
            self.add_request_handler(method, params, handler)
        if front.listens:
            from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

            # What is shown never changes, so nothing is ever published.
            self.add_request_handler(
                "subscriptions/listen",
                SubscriptionsListenRequestParams,
                front.listening(ListenHandler(InMemorySubscriptionBus())),
            )

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        """The upstream's own, whatever the SDK would make of the handlers."""
        return self._shown


def _capabilities(front: Front) -> ServerCapabilities:
    shown = dict(front.mirror.listing.capabilities)
    if front.has_control_tools:
        shown.setdefault("tools", {})
    try:
        return ServerCapabilities.model_validate(shown)
    except ValidationError:
        # The upstream's capabilities are malformed somewhere: show what they are about.
        return ServerCapabilities.model_validate(
            {name: {} for name in shown if name in ServerCapabilities.model_fields}
        )
