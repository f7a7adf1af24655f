"""Serving one client on standard input and output, and how that ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, TypeVar, cast

import anyio
import anyio.from_thread
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError

from agentworld_mcp_shim._answers import Answers
from agentworld_mcp_shim._control_tools import WorldControls
from agentworld_mcp_shim._front import Front
from agentworld_mcp_shim._links import UpstreamLinks
from agentworld_mcp_shim._mirror import Mirror
from agentworld_mcp_shim._mirrors import mirrors_of
from agentworld_mcp_shim._pool import WorldPool
from agentworld_mcp_shim._seating import nobody_answers
from agentworld_mcp_shim._server import build_server, own_listing
from agentworld_mcp_shim._settings import ShimSettings
from agentworld_mcp_shim._stdio_lines import LimitedLines, own_input
from agentworld_mcp_shim._upstream import Upstream, close_all
from agentworld_mcp_shim._worlds import WorldChoice
from agentworld_sim.errors import AgentworldError

if TYPE_CHECKING:
    from agentworld_sim.world import World

T = TypeVar("T")

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""How long calls that are being answered may take to stop when we are told to end."""


async def serve(started: Mapping[str, Upstream], settings: ShimSettings) -> None:
    """Serves one client on standard input and output until it leaves.

    A signal ends the process from here, with 128 and its number as the exit code.

    Args:
        started: The upstreams that run, by the name of their target.
        settings: What the command line says. Without targets the world's own tools are shown.

    Raises:
        AgentworldError: the upstream, the world or a binding is not to be had.
    """
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    on_signals(ending)
    pool = WorldPool(settings)
    opening = pool.begin()
    try:
        if settings.targets:
            listing = asyncio.create_task(mirrors_of(settings, started))
            mirrors = await _unless(ending, listing, started)
            mirror, links = mirrors[""], UpstreamLinks(settings, mirrors)
            pool.show(mirror)
            for warning in mirror.warnings:
                logger.warning("%s", warning)
        else:
            mirror, links = Mirror(own_listing(await _unless(ending, opening, started))), None
            pool.show(None)
        pool.ready().add_done_callback(lambda task: _settled(task, mirror, settings.worlds))
        await _served(mirror, pool, links, settings, ending)
    finally:
        await pool.aclose()
    if ending.done():
        # The SDK reads standard input in a thread that nothing can interrupt: only leaving ends it.
        leave(ending)


async def _served(
    mirror: Mirror,
    pool: WorldPool,
    links: UpstreamLinks | None,
    settings: ShimSettings,
    ending: asyncio.Future[int],
) -> None:
    """Serves until the client leaves or `ending` is set, which a world that fails to open does."""
    answers = Answers(seconds=settings.answer_seconds)
    control = WorldControls(pool, {"": mirror}) if settings.control_tools else None
    front = Front(mirror, pool, answers, passthrough=links, control=control, access=settings.access)
    serving = asyncio.create_task(_over_stdio(build_server(front), settings.max_request_bytes))
    ready = pool.ready()
    ready.add_done_callback(lambda task: _pass_on(task, ending))
    await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    if ending.done():
        await answers.settle(SETTLE_SECONDS)
    else:
        await serving
    if links is not None:
        await links.aclose()
    if ending.done():
        return
    # Whoever starts us without a client wants to know whether all is well.
    await asyncio.wait({ready}, timeout=SETTLE_SECONDS)


def _settled(ready: asyncio.Task[World], mirror: Mirror, choice: WorldChoice) -> None:
    # The command switched it off for the imports. What they made stays: never look at it again.
    gc.freeze()
    gc.enable()
    if ready.cancelled() or ready.exception() is not None:
        return
    world = ready.result()
    if choice.world_id is None and not choice.memory:
        logger.warning("a fresh world: --world %s reaches it again", world.id)
    else:
        logger.info("the world is %s", world.id)
    if (told := nobody_answers(world, mirror)) is not None:
        logger.warning("%s", told)


async def _over_stdio(server: Server[Any], most: int) -> None:
    options = server.create_initialization_options()
    answering: list[Callable[[SessionMessage], Coroutine[Any, Any, None]]] = []

    def refuse(request: int | str | None) -> None:
        text = f"a request may have {most:,} bytes, this one is larger. --max-request-bytes allows more."
        logger.warning("%s", text)
        if request is not None and answering:
            error = JSONRPCError(
                jsonrpc="2.0", id=request, error=ErrorData(code=INVALID_REQUEST, message=text)
            )
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                anyio.from_thread.run(answering[0], SessionMessage(error))

    lines = cast("TextIO", LimitedLines(own_input(), most, refuse))
    try:
        async with stdio_server(stdin=anyio.wrap_file(lines)) as (reading, writing):
            answering.append(writing.send)
            await server.run(reading, writing, options)
    except* BrokenPipeError:
        logger.info("the client has left")


async def _unless(
    ending: asyncio.Future[int], work: asyncio.Task[T], started: Mapping[str, Upstream]
) -> T:
    """The work's result, unless we are told to end meanwhile."""
    await asyncio.wait({ending, work}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        close_all(started)
        leave(ending)
    return work.result()


def _pass_on(task: asyncio.Task[Any], ending: asyncio.Future[int]) -> None:
    if not task.cancelled() and (error := task.exception()) and not ending.done():
        ending.set_exception(error)


def on_signals(ending: asyncio.Future[int]) -> None:
    """Sets `ending` to the exit code when a signal says to end; a second one ends at once."""

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
