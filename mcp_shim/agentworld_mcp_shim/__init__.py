"""The MCP server that mirrors other servers and answers from a simulated world.

`agentworld mcp -- COMMAND` starts it as a program. In Python, `world_server` is a server in front of a
world that is open in this process.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
