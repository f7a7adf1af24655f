"""An MCP server that offers the tools of a listing in `listings/` and answers none of them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult, PaginatedRequestParams, Tool

FILE = Path(__file__).parent / "listings" / f"{sys.argv[1]}.json"
TOOLS = [
    Tool.model_validate(tool) for tool in json.loads(FILE.read_text(encoding="utf-8"))["tools"]
]


async def listed(
    context: ServerRequestContext[Any], params: PaginatedRequestParams | None
) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def main() -> None:
    server: Server[Any] = Server(sys.argv[1], on_list_tools=listed)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


asyncio.run(main())
