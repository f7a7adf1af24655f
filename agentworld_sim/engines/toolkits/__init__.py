"""Well-known MCP servers whose state is no file, computed in their own words."""

from agentworld_sim.engines.toolkits._engine import ToolkitEngine
from agentworld_sim.engines.toolkits._kept_tables import kept_tables
from agentworld_sim.engines.toolkits._server_tool import ServerTool, server_tools

__all__ = ["ServerTool", "ToolkitEngine", "kept_tables", "server_tools"]
