"""Tools whose state is no file, computed on the world's values: well-known MCP servers, and a user's own."""

from agentworld_sim.engines.toolkits.engine import Kept, ServerTurn, ToolkitEngine
from agentworld_sim.engines.toolkits.server_tables import kept_tables

__all__ = ["Kept", "ServerTurn", "ToolkitEngine", "kept_tables"]
