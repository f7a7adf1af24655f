"""Tools whose state is no file, computed on the world's values: well-known MCP servers, and a user's own."""

from agentworld_sim.engines.toolkits.server_tables import kept_tables
from agentworld_sim.engines.toolkits.toolkit_engine import (
    ServerTurn,
    ServerValues,
    ToolkitEngine,
    answer_known,
)

__all__ = ["ServerTurn", "ServerValues", "ToolkitEngine", "answer_known", "kept_tables"]
