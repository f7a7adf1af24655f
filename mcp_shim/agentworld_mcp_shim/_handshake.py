"""The handshake with an upstream: which protocol era, and what it is told of the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)
from mcp.types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from agentworld_sim import __version__
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
    from pydantic import BaseModel

    from agentworld_mcp_shim._client_request import ClientRequest

ENVELOPE = (PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY)
"""Keys in `_meta` of every request of the newest era."""

DISCOVER_SECONDS = 10.0
"""After which an upstream that does not answer the question of the newest era is greeted in the older."""

OWN_NAME = {"name": "agentworld", "version": __version__}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientIdentity:
    """What an upstream is told of the client: its words are the client's own."""

    version: str
    """The protocol version that the client speaks."""
    client: Mapping[str, Any] = field(default_factory=lambda: OWN_NAME)
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def of(cls, call: ClientRequest, version: str) -> ClientIdentity:
        """The client's own."""
        told = call.connection.client_params
        able = call.connection.client_capabilities
        return cls(
            version=version,
            client=OWN_NAME if told is None else _json(told.client_info),
            capabilities={} if able is None else _json(able),
        )


@dataclass(frozen=True, slots=True)
class AgreedVersion:
    """What both sides speak."""

    version: str
    server: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the upstream said of itself, as it came over the wire."""

    @property
    def modern(self) -> bool:
        """Whether every request carries its own envelope."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    def meta(self, given: Mapping[str, Any], identity: ClientIdentity) -> dict[str, Any]:
        """`_meta` of a request for the upstream."""
        # What is meant for us does not go further, and the token of progress is mapped.
        meta = {
            key: value
            for key, value in given.items()
            if not key.startswith("agentworld/") and key != "progressToken" and key not in ENVELOPE
        }
        if self.modern:
            meta |= {
                PROTOCOL_VERSION_META_KEY: self.version,
                CLIENT_INFO_META_KEY: dict(identity.client),
                CLIENT_CAPABILITIES_META_KEY: dict(identity.capabilities),
            }
        return meta

    def headers(
        self, method: str, params: Mapping[str, Any], schema: Mapping[str, Any] | None
    ) -> dict[str, str]:
        """What a request over HTTP says in its headers."""
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.version}
        if not self.modern:
            return headers
        headers[MCP_METHOD_HEADER] = method
        name = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        if schema is not None:
            arguments: object = params.get("arguments")
            if isinstance(arguments, dict):
                given = cast("dict[str, Any]", arguments)
                headers.update(mcp_param_headers(x_mcp_header_map(schema), given))
        return headers


async def ignore_notification(context: Any, method: str, params: Any) -> None:
    """Takes notifications that say nothing to us."""


def _json(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def agree(dispatcher: JSONRPCDispatcher[Any], identity: ClientIdentity) -> AgreedVersion:
    """Agrees on a version: the client's own era first, so that both ends mean the same.

    Raises:
        MCPError: the upstream speaks neither era.
    """
    if identity.version in MODERN_PROTOCOL_VERSIONS:
        found = await _discover(dispatcher, identity)
        if found is not None:
            return found
        # It would ask questions that a client of the newest era cannot be asked.
        plain = ClientIdentity(version=LATEST_HANDSHAKE_VERSION, client=identity.client)
        return await _initialize(dispatcher, plain)
    try:
        return await _initialize(dispatcher, identity)
    except MCPError:
        modern = ClientIdentity(
            version=LATEST_MODERN_VERSION,
            client=identity.client,
            capabilities=identity.capabilities,
        )
        found = await _discover(dispatcher, modern)
        if found is None:
            raise
        return found


async def _initialize(
    dispatcher: JSONRPCDispatcher[Any], identity: ClientIdentity
) -> AgreedVersion:
    result = await dispatcher.send_raw_request(
        "initialize",
        {
            "protocolVersion": identity.version,
            "capabilities": dict(identity.capabilities),
            "clientInfo": dict(identity.client),
        },
        {"cancel_on_abandon": False},
    )
    version = result.get("protocolVersion")
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise MCPError(-32602, f"it speaks protocol version {version!r}, which is not known here")
    await dispatcher.notify(
        "notifications/initialized", None, {"headers": {MCP_PROTOCOL_VERSION_HEADER: version}}
    )
    return AgreedVersion(version, result)


async def _discover(
    dispatcher: JSONRPCDispatcher[Any], identity: ClientIdentity
) -> AgreedVersion | None:
    """The newest era, if the upstream speaks it."""
    wanted = AgreedVersion(identity.version)
    try:
        result = await dispatcher.send_raw_request(
            "server/discover",
            {"_meta": wanted.meta({}, identity)},
            {
                "cancel_on_abandon": False,
                "headers": wanted.headers("server/discover", {}, None),
                "timeout": DISCOVER_SECONDS,
            },
        )
    except MCPError:
        return None
    offered = result.get("supportedVersions")
    versions = cast("list[object]", offered) if isinstance(offered, list) else []
    return replace(wanted, server=result) if wanted.version in versions else None
