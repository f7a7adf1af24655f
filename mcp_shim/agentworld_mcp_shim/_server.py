"""The server: the SDK's low-level one over stdio, in both protocol eras, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
    PaginatedRequestParams,
)

from agentworld_mcp_shim._answers import Answers
from agentworld_mcp_shim._mirror import Mirror
from agentworld_mcp_shim._upstream import Listing, Upstream, list_upstream
from agentworld_mcp_shim._worlds import WorldChoice, open_world, put_away
from agentworld_sim._version import __version__
from agentworld_sim.errors import AgentworldError, UsageError
from agentworld_sim.tools import ToolSpec
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_sim.world import World

T = TypeVar("T")

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""How long calls that are being answered may take to stop when we are told to end."""


async def serve(
    upstream: Upstream | None,
    choice: WorldChoice,
    *,
    binds: Mapping[str, str],
    upstream_seconds: float,
) -> None:
    """Serves one client on standard input and output until it leaves.

    A signal ends the process from here, with 128 and its number as the exit code.

    Args:
        upstream: Whose tools are shown; the world's own by default.
        choice: Which world answers.
        binds: Binding ids by tool name.
        upstream_seconds: Time that the upstream has for its listing.

    Raises:
        AgentworldError: the upstream, the world or a binding is not to be had.
    """
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _on_signals(ending)
    opening = asyncio.create_task(open_world(choice))
    try:
        if upstream is None:
            mirror = Mirror(own_listing(await _unless(ending, opening, upstream)))
            ready = opening
        else:
            listing = asyncio.create_task(list_upstream(upstream, seconds=upstream_seconds))
            mirror = Mirror(await _unless(ending, listing, upstream))
            specs = mirror.specs(binds)
            for warning in mirror.warnings:
                logger.warning("%s", warning)
            ready = asyncio.create_task(_with_tools(opening, mirror, specs))
        ready.add_done_callback(lambda task: _settled(task, choice))
        await _served(mirror, ready, ending)
    finally:
        await _close(opening, choice)
    if ending.done():
        # The SDK reads standard input in a thread that nothing can interrupt: only leaving ends it.
        leave(ending)


def own_listing(world: World) -> Listing:
    """The world's own tools, as an upstream would list them."""
    tools: list[dict[str, Any]] = []
    for tool in world.tools.values():
        if tool.access == "simulate":
            listed: dict[str, Any] = {
                "name": tool.name,
                "description": tool.description,
                "inputSchema": tool.input_schema,
            }
            if tool.output_schema is not None:
                listed["outputSchema"] = tool.output_schema
            if tool.annotations:
                listed["annotations"] = tool.annotations
            tools.append(listed)
    return Listing(
        identity={"name": "agentworld", "version": __version__}, pages={None: {"tools": tools}}
    )


def build_server(mirror: Mirror, answers: Answers) -> Server[Any]:
    """The SDK's server that shows `mirror` and answers with `answers`."""

    async def list_tools(
        context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> Any:
        cursor = params.cursor if params else None
        page = mirror.page(cursor, context.protocol_version)
        if page is None:
            raise MCPError(INVALID_PARAMS, f"Invalid cursor: {cursor}")
        return dict(page)

    async def call_tool(
        context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        return await answers.call(params.name, params.arguments or {})

    identity = Implementation.model_validate(mirror.listing.identity)
    return Server(
        identity.name,
        version=identity.version,
        title=identity.title,
        description=identity.description,
        website_url=identity.website_url,
        icons=identity.icons,
        instructions=mirror.listing.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _with_tools(
    opening: asyncio.Task[World], mirror: Mirror, specs: Sequence[ToolSpec]
) -> World:
    """The world once it is open and answers the mirror's tools."""
    world = await opening

    def bind() -> None:
        bound = world.add_tools(specs)
        for asked, given in zip(specs, bound, strict=True):
            if asked.binds_to is not None:
                require_arguments(asked, given)
        mirror.examine([tool.name for tool in bound if tool.access == "simulate"])

    known = len(mirror.warnings)
    # In a thread, because thousands of tools take a while and a client is being served.
    await asyncio.to_thread(bind)
    for warning in mirror.warnings[known:]:
        logger.warning("%s", warning)
    return world


def require_arguments(asked: ToolSpec, bound: ToolSpec) -> None:
    """Raises `UsageError` when a binding that was asked for needs arguments the tool does not take."""
    if bound.binds_to is None:
        raise UsageError(
            f"--bind {asked.name}={asked.binds_to}: no engine of this world has such a binding."
        )
    from agentworld_sim.engines.shell import bindings

    binding = bindings().get(bound.binds_to)
    needed: Sequence[str] = binding.input_schema.get("required", ()) if binding else ()
    taken: Mapping[str, Any] = asked.input_schema.get("properties", {})
    missing = [name for name in needed if name not in taken]
    if missing:
        raise UsageError(
            f"--bind {asked.name}={asked.binds_to}: that binding needs {', '.join(missing)}, and"
            f" {asked.name!r} takes {', '.join(taken) or 'no arguments'}. They are different tools."
        )


async def _served(mirror: Mirror, ready: asyncio.Task[World], ending: asyncio.Future[int]) -> None:
    """Serves until the client leaves or `ending` is set, which a world that fails to open does."""
    answers = Answers(mirror, lambda: asyncio.shield(ready))
    serving = asyncio.create_task(_over_stdio(build_server(mirror, answers)))
    ready.add_done_callback(lambda task: _pass_on(task, ending))
    await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    if ending.done():
        await answers.settle(SETTLE_SECONDS)
        return
    await serving
    # Whoever starts us without a client wants to know whether all is well.
    await asyncio.wait({ready}, timeout=SETTLE_SECONDS)


def _settled(ready: asyncio.Task[World], choice: WorldChoice) -> None:
    # The command switched it off for the imports. What they made stays: never look at it again.
    gc.freeze()
    gc.enable()
    if ready.cancelled() or ready.exception() is not None:
        return
    world = ready.result().id
    if choice.world_id is None and not choice.memory:
        logger.warning("a fresh world: --world %s reaches it again", world)
    else:
        logger.info("the world is %s", world)


async def _over_stdio(server: Server[Any]) -> None:
    options = server.create_initialization_options()
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, options)
    except* BrokenPipeError:
        logger.info("the client has left")


async def _close(opening: asyncio.Task[World], choice: WorldChoice) -> None:
    await asyncio.wait({opening}, timeout=SETTLE_SECONDS)
    if opening.done() and not opening.cancelled() and opening.exception() is None:
        world = opening.result()
        await world.close()
        await asyncio.to_thread(put_away, world, choice)


async def _unless(
    ending: asyncio.Future[int], work: asyncio.Task[T], upstream: Upstream | None
) -> T:
    """The work's result, unless we are told to end meanwhile."""
    await asyncio.wait({ending, work}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        if upstream is not None:
            upstream.close()
            upstream.closed()
        leave(ending)
    return work.result()


def _pass_on(task: asyncio.Task[Any], ending: asyncio.Future[int]) -> None:
    if not task.cancelled() and (error := task.exception()) and not ending.done():
        ending.set_exception(error)


def _on_signals(ending: asyncio.Future[int]) -> None:
    def told(number: int) -> None:
        if ending.done():
            # Told twice: whoever is there does not want to wait.
            os._exit(128 + number)
        ending.set_result(128 + number)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows has no such handlers; there Ctrl-C ends the process at once.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, told, number)


def leave(ending: asyncio.Future[int]) -> NoReturn:
    """Ends the process as `ending` says, whatever its threads do."""
    failure = ending.exception()
    code = ending.result() if failure is None else getattr(failure, "exit_code", 1)
    if failure is not None:
        expected = isinstance(failure, AgentworldError)
        logger.error("%s", failure, exc_info=None if expected else failure)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)
