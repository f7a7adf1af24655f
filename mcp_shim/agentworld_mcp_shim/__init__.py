"""The MCP server that mirrors other servers and answers from a simulated world.

`agentworld mcp -- COMMAND` starts it. It is a program, not a library: nothing here is API.
"""

__all__: list[str] = []
