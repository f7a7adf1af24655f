"""What a client talks to: each request goes to the world, to the mirror's own listing, or, for what the
access rules name `real`, to the upstream.

Who says what: what the simulated tool says is a result, also when it is an error (`isError`). What the
protocol says (no such tool) and what our own failures say (a damaged store) are JSON-RPC errors: an
agent must not take them for the tool's words.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    PaginatedRequestParams,
)

from agentworld_mcp_shim._answers import Answers, clean
from agentworld_mcp_shim._mirror import Mirror, MirroredTool
from agentworld_sim.errors import AgentworldError
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_sim.world import World

logger = logging.getLogger(__name__)

_DEFECT = "the world failed in a way that it should not; its log says more. Nothing was stored."


class Worlds(Protocol):
    """Gives each request its world."""

    async def world(self, context: ServerRequestContext[Any]) -> World:
        """The world that this request is about, open and with the mirror's tools.

        Raises:
            AgentworldError: it cannot be had.
            MCPError: the request names one that it may not use.
        """
        ...


class Passthrough(Protocol):
    """Sends what is allowed to be real to the upstreams."""

    async def call_tool(
        self, context: ServerRequestContext[Any], tool: MirroredTool, arguments: Mapping[str, Any]
    ) -> Any:
        """The upstream's result, as it came over the wire."""
        ...

    async def request(
        self, context: ServerRequestContext[Any], method: str, params: Mapping[str, Any]
    ) -> Any:
        """The result of a request that is no tool call, as it came over the wire."""
        ...


class ControlTools(Protocol):
    """Tools of the shim's own, which clients are offered only when asked for."""

    def listed(self) -> list[dict[str, Any]]:
        """The tools, as `tools/list` shows them."""
        ...

    async def call(
        self, context: ServerRequestContext[Any], name: str, arguments: Mapping[str, Any]
    ) -> Any:
        """The result; `None` when it is no tool of these."""
        ...


class Front:
    """Answers the requests of the clients of one mirror."""

    def __init__(
        self,
        mirror: Mirror,
        worlds: Worlds,
        answers: Answers,
        *,
        passthrough: Passthrough | None = None,
        control: ControlTools | None = None,
    ) -> None:
        self.mirror = mirror
        self.answers = answers
        self._worlds = worlds
        self._passthrough = passthrough
        self._control = control

    async def list_tools(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> Any:
        """A page of the upstream's tools."""
        cursor = params.cursor if params else None
        page = self.mirror.page(cursor, context.protocol_version)
        if page is None:
            raise MCPError(INVALID_PARAMS, f"Invalid cursor: {cursor}")
        page = dict(page)
        if self._control is not None and page.get("nextCursor") is None:
            page["tools"] = [*page["tools"], *self._control.listed()]
        return page

    async def call_tool(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> Any:
        """One call.

        Raises:
            MCPError: there is no such tool, or the world failed; it is as it was.
        """
        arguments = params.arguments or {}
        async with _told(params.name):
            if self._control is not None:
                result = await self._control.call(context, params.name, arguments)
                if result is not None:
                    return result
            tool = self.mirror.tools.get(params.name)
            if tool is None:
                return self.answers.unknown(params.name, self.mirror)
            world = await self._worlds.world(context)
            if self._passthrough is not None and _is_real(world, tool):
                return await self._passthrough.call_tool(context, tool, arguments)
            return await self.answers.call(world, tool, arguments, context=context)


@asynccontextmanager
async def _told(name: str) -> AsyncGenerator[None]:
    """Our own failures become JSON-RPC errors."""
    try:
        yield
    except AgentworldError as error:
        logger.error("%s", error)
        raise MCPError(
            INTERNAL_ERROR, clean(str(error)), {"error": type(error).__name__}
        ) from error
    except MCPError:
        raise
    except Exception as error:
        # A defect of ours. Its text is for the log: a client might show it to a model.
        logger.exception("no answer to %r", name)
        raise MCPError(INTERNAL_ERROR, f"no answer to {name!r}: {_DEFECT}") from error


def _is_real(world: World, tool: MirroredTool) -> bool:
    return tool.problem is None and world.tools[tool.world_name].access == "real"
