"""Tools whose state is no file, computed on the world's values: well-known MCP servers, and a user's own."""

from agentworld_sim.engines.toolkits._engine import ToolkitEngine
from agentworld_sim.engines.toolkits._kept_tables import kept_tables
from agentworld_sim.engines.toolkits._server_tool import Kept, ServerTurn

__all__ = ["Kept", "ServerTurn", "ToolkitEngine", "kept_tables"]
