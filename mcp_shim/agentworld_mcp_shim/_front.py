"""What a client talks to: each request goes to the world, to the mirror's own listing, or, for what the
access rules name `real`, to the upstream.

Who says what: what the simulated tool says is a result, also when it is an error (`isError`). What the
protocol says (no such tool) and what our own failures say (a damaged store) are JSON-RPC errors: an
agent must not take them for the tool's words.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SetLevelRequestParams,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)

from agentworld_mcp_shim._answers import Answers, clean
from agentworld_mcp_shim._keys import CALLER
from agentworld_mcp_shim._listing import LISTS
from agentworld_mcp_shim._mirror import LIST_DEFAULTS, Mirror, MirroredTool
from agentworld_mcp_shim._offered import Offered
from agentworld_mcp_shim._telemetry import mark_span, told, without_marks
from agentworld_sim.errors import AgentworldError, StoreError, UnknownWorldError
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from pydantic import BaseModel

    from agentworld_sim.types.tools import Access
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
        self,
        context: ServerRequestContext[Any],
        method: str,
        params: Mapping[str, Any],
        *,
        upstream: str = "",
    ) -> Any:
        """The result of a request that is no tool call, as it came over the wire.

        Args:
            context: The client's request.
            method: For example `resources/read`.
            params: With the names that the upstream uses.
            upstream: Whose it is among several; empty when there is one, or when all are meant
                (`logging/setLevel`).
        """
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


Handler = Callable[[Any, Any], Awaitable[Any]]
"""`(context, params) -> result`."""

REAL_METHODS = (
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
)
"""Methods that access rules may name beside tools, each by its exact name."""


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
        access: Mapping[str, Access] | None = None,
    ) -> None:
        """
        Args:
            mirror: What clients are shown.
            worlds: Gives each request its world.
            answers: Answers tool calls.
            passthrough: Sends what is allowed to be real to the upstreams.
            control: Tools of our own that clients are offered.
            access: Access rules of the command line: by method (`resources/read`, …), all simulated by
                default, and by tool. No tool is real that is not named here.
        """
        self.mirror = mirror
        self.answers = answers
        self._worlds = worlds
        self._passthrough = passthrough
        self._control = control
        self._access = access or {}
        self._offered = Offered(mirror)

    @property
    def has_control_tools(self) -> bool:
        """Whether clients are offered tools that no upstream has."""
        return self._control is not None

    @property
    def listens(self) -> bool:
        """Whether clients may wait for changes."""
        return any(
            self.mirror.offers(capability, flag)
            for capability in ("tools", "resources", "prompts")
            for flag in ("listChanged", "subscribe")
        )

    def handlers(self) -> dict[str, tuple[type[BaseModel], Handler]]:
        """What answers each method; methods that the upstream does not offer are not among them."""
        offers, listing = self.mirror.offers, self.mirror.listing
        found: dict[str, tuple[type[BaseModel], Handler]] = {}
        for method, kind in LISTS.items():
            missing = listing.failures.get(method, {}).get("code") == METHOD_NOT_FOUND
            if offers(kind.capability) and not missing:
                found[method] = PaginatedRequestParams, partial(self._list, method)
        if self.has_control_tools or "tools/list" in found:
            found["tools/list"] = PaginatedRequestParams, self.list_tools
            found["tools/call"] = CallToolRequestParams, self.call_tool
        if offers("resources"):
            found["resources/read"] = ReadResourceRequestParams, self._read
        if offers("resources", "subscribe"):
            found["resources/subscribe"] = SubscribeRequestParams, self._accept
            found["resources/unsubscribe"] = UnsubscribeRequestParams, self._accept
        if offers("prompts"):
            found["prompts/get"] = GetPromptRequestParams, self._prompt
        if offers("completions"):
            found["completion/complete"] = CompleteRequestParams, self._complete
        if offers("logging"):
            found["logging/setLevel"] = SetLevelRequestParams, self._accept
        return found

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """The input schema of a tool of the upstream; `None` when it has no such tool."""
        tool = self.mirror.tools.get(name)
        return None if tool is None else tool.input.content

    async def list_tools(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> Any:
        """A page of the upstream's tools."""
        page = await self._list("tools/list", context, params)
        if self._control is not None and not page.get("nextCursor"):
            page["tools"] = [*page["tools"], *self._control.listed()]
        return page

    async def call_tool(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> Any:
        """One call.

        Raises:
            MCPError: there is no such tool, or the world failed; it is as it was.
        """
        async with _told(params.name, context):
            result = await self._called(context, params.name, params.arguments or {})
            mark_span(told(result))
            return result

    async def _called(
        self, context: ServerRequestContext[Any], name: str, arguments: Mapping[str, Any]
    ) -> Any:
        if self._control is not None:
            result = await self._control.call(context, name, arguments)
            if result is not None:
                return result
        tool = self.mirror.tools.get(name)
        if tool is None:
            return self.answers.unknown(name, self.mirror)
        world = await self._worlds.world(context)
        # Not what a scenario says: others may have written it, and a world brings its own along.
        allowed = self._access.get(tool.world_name) == "real"
        if self._passthrough is not None and allowed and _is_real(world, tool):
            return without_marks(await self._passthrough.call_tool(context, tool, arguments))
        return await self.answers.call(world, tool, arguments, context=context)

    async def _list(
        self,
        method: str,
        context: ServerRequestContext[Any],
        params: PaginatedRequestParams | None,
    ) -> dict[str, Any]:
        cursor = params.cursor if params else None
        page = self.mirror.list_page(method, cursor, context.protocol_version)
        if page is not None:
            return dict(page)
        if cursor is not None:
            raise MCPError(INVALID_PARAMS, f"Invalid cursor: {cursor}")
        failure = self.mirror.listing.failures.get(method)
        if failure is not None:
            raise MCPError(failure["code"], failure["message"], failure.get("data"))
        return {**LIST_DEFAULTS, LISTS[method].items: []}

    async def _read(
        self, context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> Any:
        async with _told(context.method, context):
            if self._is_real(context.method):
                return await self._real(context, params)
            return await self._offered.read(
                str(params.uri), context.protocol_version, lambda: self._worlds.world(context)
            )

    async def _prompt(
        self, context: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> Any:
        async with _told(context.method, context):
            if self._is_real(context.method):
                return await self._real(context, params)
            return self._offered.prompt(params.name, params.arguments or {}, _whose(context))

    async def _complete(
        self, context: ServerRequestContext[Any], params: CompleteRequestParams
    ) -> Any:
        async with _told(context.method, context):
            if self._is_real(context.method):
                return await self._real(context, params)
            ref = params.ref.model_dump(by_alias=True, exclude_none=True)
            return self._offered.complete(
                ref, params.argument.name, params.argument.value, _whose(context)
            )

    async def _accept(self, context: ServerRequestContext[Any], params: BaseModel) -> Any:
        """What asks for notifications: a mirror has none to send."""
        async with _told(context.method, context):
            if self._is_real(context.method):
                return await self._real(context, params)
            return {}

    def listening(self, behind: Handler) -> Handler:
        """What answers `subscriptions/listen`: `behind`, where it is not set to `real`."""

        async def listen(context: ServerRequestContext[Any], params: BaseModel) -> Any:
            async with _told(context.method, context):
                if self._is_real(context.method):
                    return await self._real(context, params)
                return await behind(context, params)

        return listen

    def _is_real(self, method: str) -> bool:
        """Whether a request goes to the upstream.

        Raises:
            MCPError: it goes nowhere.
        """
        access = self._access.get(method, "simulate")
        if access == "refuse":
            raise MCPError(INVALID_REQUEST, f"{method} is refused: the access rules say so.")
        if access == "real" and self._passthrough is None:
            raise MCPError(
                INTERNAL_ERROR,
                f"{method} is set to 'real', and no server runs that could answer it.",
            )
        return access == "real"

    async def _real(self, context: ServerRequestContext[Any], params: BaseModel) -> Any:
        assert self._passthrough is not None, "asked before"
        given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        upstream, native = self.mirror.origin(context.method, given)
        return await self._passthrough.request(context, context.method, native, upstream=upstream)


@asynccontextmanager
async def _told(name: str, context: ServerRequestContext[Any]) -> AsyncGenerator[None]:
    """Our own failures become JSON-RPC errors."""
    try:
        yield
    except AgentworldError as error:
        logger.error("%s", error)
        text = clean(str(error))
        if context.request is not None and isinstance(error, StoreError | UnknownWorldError):
            # They name the store's place, or worlds of others.
            text = f"no answer to {name!r}: the world cannot be had. The server's log says why."
        raise MCPError(INTERNAL_ERROR, text, {"error": type(error).__name__}) from error
    except MCPError:
        raise
    except Exception as error:
        # A defect of ours. Its text is for the log: a client might show it to a model.
        logger.exception("no answer to %r", name)
        raise MCPError(INTERNAL_ERROR, f"no answer to {name!r}: {_DEFECT}") from error


def _whose(context: ServerRequestContext[Any]) -> object:
    """The client of a request, as far as one can be told from another."""
    scope: Mapping[str, Any] = getattr(context.request, "scope", None) or {}
    return scope.get(CALLER)


def _is_real(world: World, tool: MirroredTool) -> bool:
    return tool.problem is None and world.tools[tool.world_name].access == "real"
