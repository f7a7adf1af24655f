"""Serving one client on standard input and output, and how that ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from agentworld_mcp_shim._answers import Answers
from agentworld_mcp_shim._front import Front
from agentworld_mcp_shim._mirror import Mirror
from agentworld_mcp_shim._seating import with_tools
from agentworld_mcp_shim._server import build_server, own_listing
from agentworld_mcp_shim._settings import ShimSettings
from agentworld_mcp_shim._upstream import Upstream, list_upstream
from agentworld_mcp_shim._worlds import WorldChoice, open_world, put_away
from agentworld_sim.errors import AgentworldError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from agentworld_sim.world import World

T = TypeVar("T")

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""How long calls that are being answered may take to stop when we are told to end."""


async def serve(upstream: Upstream | None, settings: ShimSettings) -> None:
    """Serves one client on standard input and output until it leaves.

    A signal ends the process from here, with 128 and its number as the exit code.

    Args:
        upstream: Whose tools are shown; the world's own by default.
        settings: What the command line says.

    Raises:
        AgentworldError: the upstream, the world or a binding is not to be had.
    """
    choice = settings.worlds
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _on_signals(ending)
    opening = asyncio.create_task(open_world(choice, access=settings.access))
    try:
        if upstream is None:
            mirror = Mirror(own_listing(await _unless(ending, opening, upstream)))
            ready = opening
        else:
            listing = asyncio.create_task(
                list_upstream(upstream, seconds=settings.upstream_seconds)
            )
            mirror = Mirror(await _unless(ending, listing, upstream))
            specs = mirror.specs(settings.binds)
            for warning in mirror.warnings:
                logger.warning("%s", warning)
            ready = asyncio.create_task(with_tools(opening, mirror, specs))
        ready.add_done_callback(lambda task: _settled(task, choice))
        await _served(mirror, ready, settings, ending)
    finally:
        await _close(opening, choice)
    if ending.done():
        # The SDK reads standard input in a thread that nothing can interrupt: only leaving ends it.
        leave(ending)


class _OneWorld:
    """Implements `Worlds`: the one that is being opened."""

    def __init__(self, ready: asyncio.Task[World]) -> None:
        self._ready = ready

    async def world(self, context: ServerRequestContext[Any]) -> World:
        return await asyncio.shield(self._ready)


async def _served(
    mirror: Mirror,
    ready: asyncio.Task[World],
    settings: ShimSettings,
    ending: asyncio.Future[int],
) -> None:
    """Serves until the client leaves or `ending` is set, which a world that fails to open does."""
    answers = Answers(seconds=settings.answer_seconds)
    front = Front(mirror, _OneWorld(ready), answers)
    serving = asyncio.create_task(_over_stdio(build_server(front)))
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
