"""What a client talks to: each request goes to the world, to the mirror's own listing, or, for what the
access rules name `real`, to the upstream.

Who says what: what the simulated tool says is a result, also when it is an error (`isError`). What
our own failures say (a damaged store) are JSON-RPC errors: an agent must not take them for the tool's words.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import NotificationOptions, Server
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    Implementation,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ServerCapabilities,
    SetLevelRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel, ValidationError

from agentworld_mcp_shim._listing import LISTS
from agentworld_mcp_shim._mirror import LIST_DEFAULTS, OWN_NAME, Mirror, MirroredTool
from agentworld_mcp_shim._resources_and_prompts import ResourcesAndPrompts
from agentworld_mcp_shim._results import (
    CallOutcome,
    call_outcome,
    encodable,
    tool_result,
    without_marks,
)
from agentworld_mcp_shim._tool_calls import ToolCalls
from agentworld_sim.errors import AgentworldError, StoreError, UnknownWorldError
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_mcp_shim._control_tools import WorldControls
    from agentworld_mcp_shim._http._metrics import Metrics
    from agentworld_mcp_shim._real_calls import RealCalls
    from agentworld_sim.types.tools import Access
    from agentworld_sim.world import World

logger = logging.getLogger(__name__)

_DEFECT = "the world failed in a way that it should not; its log says more. Nothing was stored."

_ROUTES = {"computed": "compute", "imagined": "imagine"}

Worlds = Callable[["ServerRequestContext[Any]"], Awaitable["World"]]
"""Gives a request its world, open and with the mirror's tools. Raises `AgentworldError` when it cannot be
had, and `MCPError` when the request names one that it may not use."""

Handler = Callable[[Any, Any], Awaitable[Any]]
"""`(context, params) -> result`."""


class MirrorHandlers:
    """Answers the requests of the clients of one mirror."""

    def __init__(
        self,
        mirror: Mirror,
        worlds: Worlds,
        calls: ToolCalls,
        *,
        real: RealCalls | None = None,
        control: WorldControls | None = None,
        access: Mapping[str, Access] | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        """
        Args:
            real: Sends what is allowed to be real to the upstreams.
            control: Tools of our own that clients are offered.
            access: Access rules of the command line: by method (`resources/read`, …), all simulated by
                default, and by tool. No tool is real that is not named here.
        """
        self.mirror = mirror
        self._calls = calls
        self._worlds = worlds
        self._real_calls = real
        self._control = control
        self._access = access or {}
        self._metrics = metrics
        self._known = ResourcesAndPrompts(mirror)

    def by_method(self) -> dict[str, tuple[type[BaseModel], Handler]]:
        """What answers each method; methods that the upstream does not offer are not among them."""
        offers, listing = self.mirror.offers, self.mirror.listing
        found: dict[str, tuple[type[BaseModel], Handler]] = {}
        for method, kind in LISTS.items():
            missing = listing.failures.get(method, {}).get("code") == METHOD_NOT_FOUND
            if offers(kind.capability) and not missing:
                found[method] = PaginatedRequestParams, partial(self._list, method)
        if self._control is not None or "tools/list" in found:
            found["tools/list"] = PaginatedRequestParams, self._list_tools
            found["tools/call"] = CallToolRequestParams, self._call_tool
        if offers("resources"):
            found["resources/read"] = ReadResourceRequestParams, self._unless_real(self._read)
        if offers("resources", "subscribe"):
            found["resources/subscribe"] = SubscribeRequestParams, self._unless_real(_accept)
            found["resources/unsubscribe"] = UnsubscribeRequestParams, self._unless_real(_accept)
        if offers("prompts"):
            found["prompts/get"] = GetPromptRequestParams, self._unless_real(self._prompt)
        if offers("completions"):
            found["completion/complete"] = CompleteRequestParams, self._unless_real(self._complete)
        if offers("logging"):
            found["logging/setLevel"] = SetLevelRequestParams, self._unless_real(_accept)
        if any(
            offers(capability, flag)
            for capability in ("tools", "resources", "prompts")
            for flag in ("listChanged", "subscribe")
        ):
            from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

            # What is shown never changes, so nothing is ever published.
            listen = self._unless_real(ListenHandler(InMemorySubscriptionBus()))
            found["subscriptions/listen"] = SubscriptionsListenRequestParams, listen
        return found

    def capabilities(self) -> ServerCapabilities:
        """The upstream's own, whatever the SDK would make of the handlers."""
        shown = dict(self.mirror.listing.capabilities)
        if self._control is not None:
            shown.setdefault("tools", {})
        try:
            return ServerCapabilities.model_validate(shown)
        except ValidationError:
            # The upstream's capabilities are malformed somewhere: show what they are about.
            return ServerCapabilities.model_validate(
                {name: {} for name in shown if name in ServerCapabilities.model_fields}
            )

    def input_schema(self, name: str) -> Mapping[str, Any] | None:
        """The input schema of a tool of the upstream; `None` when it has no such tool."""
        tool = self.mirror.tools.get(name)
        return None if tool is None else tool.input_schema

    async def _list_tools(
        self, context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> Any:
        page = await self._list("tools/list", context, params)
        if self._control is not None and not page.get("nextCursor"):
            page["tools"] = [*page["tools"], *self._control.list_tools()]
        return page

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

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> Any:
        """One call.

        Raises:
            MCPError: the world failed; it is as it was.
        """
        began, outcome = time.perf_counter(), CallOutcome("none", "cancelled")
        try:
            async with _failures_as_errors(params.name, context):
                result = await self._answer_call(context, params.name, params.arguments or {})
                outcome = call_outcome(result)
                _mark_span(outcome)
                return result
        except Exception:
            outcome = CallOutcome("none", "failed")
            raise
        finally:
            if self._metrics is not None:
                known = params.name if params.name in self.mirror.tools else ""
                self._metrics.count_call(known, outcome, time.perf_counter() - began)

    async def _answer_call(
        self, context: ServerRequestContext[Any], name: str, arguments: Mapping[str, Any]
    ) -> Any:
        if self._control is not None:
            result = await self._control.call(context, name, arguments)
            if result is not None:
                return result
        tool = self.mirror.tools.get(name)
        if tool is None:
            text = f"Unknown tool: {name}"
            if self.mirror.listing.identity.get("name") == OWN_NAME:
                raise MCPError(INVALID_PARAMS, text)
            # As servers of the SDKs say it, which is not what the specification wants.
            return tool_result(text, {}, is_error=True)
        world = await self._worlds(context)
        # Not what a scenario says: others may have written it, and a world brings its own along.
        allowed = self._access.get(tool.world_name) == "real"
        if self._real_calls is not None and allowed and _is_real(world, tool):
            return without_marks(await self._real_calls.call_tool(context, tool, arguments))
        return await self._calls.call(world, tool, arguments, context=context)

    async def _read(
        self, context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> Any:
        return await self._known.read(
            str(params.uri), context.protocol_version, lambda: self._worlds(context)
        )

    async def _prompt(
        self, context: ServerRequestContext[Any], params: GetPromptRequestParams
    ) -> Any:
        return self._known.prompt(params.name, params.arguments or {})

    async def _complete(
        self, context: ServerRequestContext[Any], params: CompleteRequestParams
    ) -> Any:
        ref = params.ref.model_dump(by_alias=True, exclude_none=True)
        argument = params.argument
        return self._known.complete(ref, argument.name, argument.value)

    def _unless_real(self, simulated: Handler) -> Handler:
        """Asks the upstream itself where the access rules say so."""

        async def handle(context: ServerRequestContext[Any], params: BaseModel) -> Any:
            method = context.method
            async with _failures_as_errors(method, context):
                access = self._access.get(method, "simulate")
                if access == "simulate":
                    return await simulated(context, params)
                if access == "refuse":
                    raise MCPError(
                        INVALID_REQUEST, f"{method} is refused: the access rules say so."
                    )
                if self._real_calls is None:
                    raise MCPError(
                        INTERNAL_ERROR,
                        f"{method} is set to 'real', and no server runs that could answer it.",
                    )
                given = params.model_dump(by_alias=True, mode="json", exclude_none=True)
                upstream, native = self.mirror.origin(method, given)
                return await self._real_calls.request(context, method, native, upstream=upstream)

        return handle


class MirrorServer(Server[Any]):
    """The SDK's server, with handlers for exactly what the upstream offers, in both protocol eras."""

    def __init__(self, handlers: MirrorHandlers) -> None:
        listing = handlers.mirror.listing
        identity = Implementation.model_validate(listing.identity)
        super().__init__(
            identity.name,
            version=identity.version,
            title=identity.title,
            description=identity.description,
            website_url=identity.website_url,
            icons=identity.icons,
            instructions=listing.instructions,
            # Otherwise the SDK lists all tools for every call over HTTP.
            get_tool_input_schema=handlers.input_schema,
        )
        self._shown = handlers.capabilities()
        for method, (params, handler) in handlers.by_method().items():
            self.add_request_handler(method, params, handler)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        """As the upstream showed them."""
        return self._shown


async def _accept(context: ServerRequestContext[Any], params: BaseModel) -> Any:
    """What asks for notifications: a mirror has none to send."""
    return {}


@asynccontextmanager
async def _failures_as_errors(
    name: str, context: ServerRequestContext[Any]
) -> AsyncGenerator[None]:
    """Our own failures become JSON-RPC errors."""
    try:
        yield
    except AgentworldError as error:
        logger.error("%s", error)
        text = encodable(str(error))
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


def _mark_span(outcome: CallOutcome) -> None:
    """Adds to the span of the request, which the SDK's server makes, where its answer came from."""
    from opentelemetry.trace import get_current_span

    span = get_current_span()
    if not span.is_recording():
        return
    span.set_attribute("agentworld.provenance", outcome.provenance)
    if outcome.world:
        span.set_attribute("agentworld.world", outcome.world)
    if outcome.provenance in _ROUTES:
        span.set_attribute("agentworld.route", _ROUTES[outcome.provenance])


def _is_real(world: World, tool: MirroredTool) -> bool:
    return tool.problem is None and world.tools[tool.world_name].access == "real"
