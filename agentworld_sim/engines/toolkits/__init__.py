"""Well-known MCP servers whose state is no file, computed in their own words."""

from agentworld_sim.engines.toolkits._engine import ToolkitEngine
from agentworld_sim.engines.toolkits._server_tool import ServerTool, server_tools

__all__ = ["ServerTool", "ToolkitEngine", "server_tools"]
