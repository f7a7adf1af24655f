"""Real calls: what access rules name `real`, sent to the upstream itself.

Who may be reached is decided in `_handlers`; here is only how. Nothing of the client's transport goes
along: no header, no cookie, no token.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from mcp.types import INVALID_PARAMS
from mcp.types.methods import CACHEABLE_METHODS

from agentworld_mcp_shim._client_request import ClientRequest, watch_end
from agentworld_mcp_shim._handshake import ClientIdentity
from agentworld_mcp_shim._mirror import LIST_DEFAULTS
from agentworld_mcp_shim._upstream import HttpUpstream, start_upstream
from agentworld_mcp_shim._upstream_connection import UpstreamConnection, UpstreamGone
from agentworld_mcp_shim._world_keys import CALLER
from agentworld_sim.errors import UsageError, nearest
from agentworld_sim.types.tools import ToolCall
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_mcp_shim._mirror import Mirror, MirroredTool
    from agentworld_mcp_shim._settings import ShimSettings, UpstreamTarget
    from agentworld_sim.cassette import Recorder

logger = logging.getLogger(__name__)

FOR_ALL = frozenset({"logging/setLevel", "subscriptions/listen"})
"""Methods that are about no upstream in particular."""

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

CONNECTIONS = "agentworld/connections"
"""Where a session of the older era keeps its own."""

Opening = asyncio.Task[UpstreamConnection]


class RealCalls:
    """Sends what is allowed to be real to the upstreams.

    A client of the older era gets connections of its own, because an upstream may ask it something and
    may keep something for it. In the newest era there are no sessions; clients of one principal share.
    """

    def __init__(self, settings: ShimSettings, mirrors: Mapping[str, Mirror]) -> None:
        """Raises `UsageError` when a rule sets to `real` what is not there, or the cassette cannot be written."""
        check_real(settings, mirrors)
        self._settings = settings
        self._targets = {target.name: target for target in settings.targets}
        self._shared: dict[tuple[str, str | None], Opening] = {}
        self._open: set[UpstreamConnection] = set()
        self._recorder = _recorder(settings, mirrors)

    async def call_tool(
        self, context: ServerRequestContext[Any], tool: MirroredTool, arguments: Mapping[str, Any]
    ) -> Any:
        """The upstream's result, as it came over the wire; errors as in `UpstreamConnection.request`."""
        params = {**(context.params or {}), "name": tool.upstream_name}
        schema: object = tool.listed.get("inputSchema")
        result = await self._ask(
            context,
            tool.upstream,
            "tools/call",
            params,
            schema=cast("Mapping[str, Any]", schema) if isinstance(schema, dict) else None,
        )
        if self._recorder is not None and result.get("resultType") != "input_required":
            from agentworld_mcp_shim._results import observation_of

            call = ToolCall(tool.world_name, arguments)
            await asyncio.to_thread(self._recorder.add, call, observation_of(result))
        return result

    async def request(
        self,
        context: ServerRequestContext[Any],
        method: str,
        params: Mapping[str, Any],
        *,
        upstream: str = "",
    ) -> Any:
        """The result of a request that is no tool call; as `call_tool`."""
        # What the client sent, with the names that the upstream uses.
        sent = {**(context.params or {}), **params}
        if "_meta" in sent:
            sent["_meta"] = (context.params or {}).get("_meta")
        if upstream in self._targets:
            return await self._ask(context, upstream, method, sent)
        if method not in FOR_ALL:
            # What is asked of one server is not told to the others.
            raise MCPError(INVALID_PARAMS, f"no upstream offers what {method} asks for")
        # What is for all of them, for example how much they shall log.
        results = [await self._ask(context, name, method, sent) for name in self._targets]
        return results[0] if results else {}

    async def aclose(self) -> None:
        """Ends all connections, and waits for the upstreams that are processes of ours."""
        connections = list(self._open)
        await asyncio.gather(*(connection.aclose() for connection in connections))
        self._open.clear()
        await asyncio.gather(
            *(asyncio.to_thread(connection.wait_closed) for connection in connections)
        )

    async def _ask(
        self,
        context: ServerRequestContext[Any],
        upstream: str,
        method: str,
        params: Mapping[str, Any],
        *,
        schema: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        call = ClientRequest(context)
        identity = ClientIdentity.of(call, context.protocol_version)
        connection = await self._connection(context, call, identity, upstream)
        result = await connection.request(method, params, call, identity, schema=schema)
        if call.modern:
            # What an upstream of the older era leaves out, and this client must be told.
            cacheable = method in CACHEABLE_METHODS
            result = {**(LIST_DEFAULTS if cacheable else {"resultType": "complete"}), **result}
        return result

    async def _connection(
        self,
        context: ServerRequestContext[Any],
        call: ClientRequest,
        identity: ClientIdentity,
        upstream: str,
    ) -> UpstreamConnection:
        """The client's connection with an upstream, opened if it has none that lives."""
        key = upstream, None
        if call.modern:
            held, home = self._shared, None
            scope: Mapping[str, Any] = getattr(context.request, "scope", None) or {}
            key = upstream, getattr(scope.get(CALLER), "principal", None)
            # Capabilities come with each request: a shared connection is nobody's own.
            identity = ClientIdentity(version=identity.version, client=identity.client)
        else:
            home = call.connection
            if CONNECTIONS not in home.state:
                home.state[CONNECTIONS] = {}
                home.exit_stack.push_async_callback(partial(self._forget, home.state[CONNECTIONS]))
            held: dict[tuple[str, str | None], Opening] = home.state[CONNECTIONS]
        opening = held.get(key)
        if opening is None or (opening.done() and (_has_failed(opening) or opening.result().over)):
            opening = asyncio.create_task(self._connect(self._targets[upstream], identity, home))
            held[key] = opening
        # Others may be waiting for it, so who leaves does not take it along.
        return await asyncio.shield(opening)

    async def _connect(
        self, target: UpstreamTarget, identity: ClientIdentity, home: Any
    ) -> UpstreamConnection:
        if not target.command:
            raise UpstreamGone(
                "a tool or method is set to 'real', and only a snapshot of its server is given. Name"
                " the server's command or URL as well."
            )
        logger.info("connecting with the upstream %s for real calls", target.name or "server")
        upstream = await asyncio.to_thread(start_upstream, target)
        if isinstance(upstream, HttpUpstream):
            upstream.on_response.append(watch_end)
        connection = UpstreamConnection(
            upstream,
            seconds=self._settings.upstream_seconds,
            answer_seconds=self._settings.answer_seconds,
            name=target.name,
        )
        self._open = {one for one in self._open if not one.over} | {connection}
        await connection.open(identity, home)
        return connection

    async def _forget(self, held: dict[tuple[str, str | None], Opening]) -> None:
        """Ends what a client had, when it leaves."""
        for opening in held.values():
            if not opening.done():
                opening.cancel()
            elif not _has_failed(opening):
                await opening.result().aclose()


def check_real(settings: ShimSettings, mirrors: Mapping[str, Mirror]) -> None:
    """Raises `UsageError` when a rule names what no upstream has, or sets to `real` what none answers."""
    named = [rule for rule, access in settings.access.items() if access == "real"]
    tools = {tool.world_name: tool for tool in mirrors[""].tools.values()} if mirrors else {}
    for rule, access in settings.access.items():
        # A misspelt refusal would leave its tool callable, without a word.
        whole = mirrors and not (rule.startswith("@") or any(sign in rule for sign in "*?["))
        if access == "real" and rule in tools and rule in REAL_METHODS:
            raise UsageError(
                f"--access {rule}=real: the upstream has a tool that is named like this method, and it is"
                " not clear which of them is meant. Leave it simulated."
            )
        if (access == "real" or whole) and rule not in tools and rule not in REAL_METHODS:
            raise UsageError(
                f"--access {rule}={access}: there is no such tool."
                f"{nearest(rule, [*tools, *REAL_METHODS])}"
                f" Tools: {', '.join(tools) or 'none'}. Methods: {', '.join(REAL_METHODS)}."
            )
    if named and not any(target.command for target in settings.targets):
        raise UsageError(
            f"--access {named[0]}=real: only a snapshot is given, and no server that could answer."
            " Name the server's command after `--`, or its URL."
        )


def _has_failed(opening: Opening) -> bool:
    return opening.cancelled() or opening.exception() is not None


def _recorder(settings: ShimSettings, mirrors: Mapping[str, Mirror]) -> Recorder | None:
    if settings.record is None:
        return None
    from agentworld_sim.cassette import Recorder

    return Recorder(
        settings.record,
        tools=mirrors[""].specs(settings.binds),
        volatile=settings.volatile,
        # What the servers are given to prove who calls must not be in a file of what they said.
        secrets=frozenset[str]().union(*(target.secrets() for target in settings.targets)),
    )
