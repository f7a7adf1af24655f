"""The commands of `agentworld mcp`, one file each."""

from agentworld_mcp_shim._command._group import mcp

__all__ = ["mcp"]
