"""The MCP server that mirrors other servers and answers from a simulated world.

`agentworld mcp -- COMMAND` starts it as a program. In Python, `world_server` is a server in front of a
world that is open in this process.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_mcp_shim.in_memory import world_server

__all__ = ["world_server"]


def __getattr__(name: str) -> Any:
    # Imported late: the command starts before the SDK is loaded.
    if name in __all__:
        from agentworld_mcp_shim import in_memory

        return getattr(in_memory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
