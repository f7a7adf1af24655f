"""Tools whose state is no file, computed on the world's values: well-known MCP servers, and a user's own."""

from agentworld_sim.engines.toolkits.server_tables import kept_tables
from agentworld_sim.engines.toolkits.toolkit_engine import (
    TURN_US,
    ServerTurn,
    ServerValues,
    ToolkitEngine,
    tool_behind,
)

__all__ = ["TURN_US", "ServerTurn", "ServerValues", "ToolkitEngine", "kept_tables", "tool_behind"]
