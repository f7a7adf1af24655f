"""Configuration files of MCP clients: the shim put in front of every server in them, and away again."""

from agentworld_mcp_shim.wrapping._clients import CLIENTS, Client, client_named, usual_files
from agentworld_mcp_shim.wrapping._config_rewrite import (
    EntryOutcome,
    RewrittenConfig,
    WrapChoice,
    unwrap_text,
    wrap_text,
)

__all__ = [
    "CLIENTS",
    "Client",
    "EntryOutcome",
    "RewrittenConfig",
    "WrapChoice",
    "client_named",
    "unwrap_text",
    "usual_files",
    "wrap_text",
]
