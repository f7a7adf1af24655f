"""The MCP server that mirrors other servers and answers from a simulated world."""
