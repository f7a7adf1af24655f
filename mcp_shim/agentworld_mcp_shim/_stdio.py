"""Serving one client on standard input and output, and how that ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError

from agentworld_mcp_shim._control_tools import WorldControls
from agentworld_mcp_shim._handlers import MirrorHandlers, MirrorServer
from agentworld_mcp_shim._mirror import Mirror, world_listing
from agentworld_mcp_shim._mirrors import mirrors_of
from agentworld_mcp_shim._pool import WorldPool
from agentworld_mcp_shim._real_calls import RealCalls
from agentworld_mcp_shim._settings import ShimSettings
from agentworld_mcp_shim._stdio_lines import (
    LimitedLines,
    LineWriter,
    own_input,
    own_output,
    read_messages,
)
from agentworld_mcp_shim._tool_calls import ToolCalls
from agentworld_mcp_shim._upstream import Upstream, close_all
from agentworld_mcp_shim._worlds import WorldChoice
from agentworld_sim.errors import AgentworldError
from agentworld_sim.ports import blocking

if TYPE_CHECKING:
    from agentworld_sim.world import World

T = TypeVar("T")

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""How long calls that are being answered may take to stop when we are told to end."""


async def serve(started: Mapping[str, Upstream], settings: ShimSettings) -> None:
    """Serves one client on standard input and output until it leaves.

    A signal ends the process from here, with 128 and its number as the exit code.

    Raises:
        AgentworldError: the upstream, the world or a binding is not to be had.
    """
    blocking.ALLOWED.set(True)
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    on_signals(ending)
    pool = WorldPool(settings)
    opening = pool.begin()
    warming = asyncio.create_task(_warm(pool))
    try:
        if settings.targets:
            listing = asyncio.create_task(mirrors_of(settings, started))
            mirrors = await _unless(ending, listing, started)
            mirror, real = mirrors[""], RealCalls(settings, mirrors)
            pool.show(mirror)
            for warning in mirror.warnings:
                logger.warning("%s", warning)
        else:
            mirror, real = Mirror(world_listing(await _unless(ending, opening, started))), None
            pool.show(None)
        pool.ready().add_done_callback(lambda task: _report_world(task, mirror, settings.worlds))
        await _serve_mirror(mirror, pool, real, settings, ending)
    finally:
        warming.cancel()
        await pool.aclose()
    if ending.done():
        # Standard input may be read in a thread that nothing can interrupt: only leaving ends it.
        leave(ending)


async def _serve_mirror(
    mirror: Mirror,
    pool: WorldPool,
    real: RealCalls | None,
    settings: ShimSettings,
    ending: asyncio.Future[int],
) -> None:
    """Serves until the client leaves or `ending` is set, which a world that fails to open does."""
    calls = ToolCalls(seconds=settings.answer_seconds)
    control = WorldControls(pool, {"": mirror}) if settings.control_tools else None
    handlers = MirrorHandlers(
        mirror, pool.world, calls, real=real, control=control, access=settings.access
    )
    serving = asyncio.create_task(_over_stdio(MirrorServer(handlers), settings.max_request_bytes))
    ready = pool.ready()
    ready.add_done_callback(lambda task: _end_on_failure(task, ending))
    await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
    if ending.done():
        await calls.settle(SETTLE_SECONDS)
    else:
        await serving
    if real is not None:
        await real.aclose()
    if ending.done():
        return
    # Whoever starts us without a client wants to know whether all is well.
    await asyncio.wait({ready}, timeout=SETTLE_SECONDS)


async def _warm(pool: WorldPool) -> None:
    """Brings up what the first call needs while the client makes up its mind."""
    # Whatever is wrong with the world, who asks it says so.
    with suppress(Exception):
        world = await asyncio.shield(pool.ready())
        await world.warm()


def _report_world(ready: asyncio.Task[World], mirror: Mirror, choice: WorldChoice) -> None:
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
    if (warning := _refusal_warning(world, mirror)) is not None:
        logger.warning("%s", warning)


def _refusal_warning(world: World, mirror: Mirror) -> str | None:
    """What to tell people when none of a mirror's tools is answered; `None` when one is."""
    names = [tool.world_name for tool in mirror.tools.values() if tool.problem is None]
    if not names or any(world.tools[name].access != "refuse" for name in names):
        return None
    return (
        f"none of the {len(names)} tools is answered here, each call gets an error that says why."
        " `agentworld mcp explain` shows what could be done; --model-url names a language world"
        " model that imagines them."
    )


async def _over_stdio(server: Server[Any], most: int) -> None:
    loop = asyncio.get_running_loop()

    def refuse(request: int | str | None) -> None:
        text = f"a request may have {most:,} bytes, this one is larger. --max-request-bytes allows more."
        logger.warning("%s", text)
        if request is not None:
            error = JSONRPCError(
                jsonrpc="2.0", id=request, error=ErrorData(code=INVALID_REQUEST, message=text)
            )
            asyncio.run_coroutine_threadsafe(writing.send(SessionMessage(error)), loop)

    sending, reading = read_messages(own_input(), LimitedLines(most, refuse))
    writing: Any = LineWriter(own_output(), sending.aclose)
    await server.run(reading, writing, server.create_initialization_options())


async def _unless(
    ending: asyncio.Future[int], work: asyncio.Task[T], started: Mapping[str, Upstream]
) -> T:
    """The work's result, unless we are told to end meanwhile."""
    await asyncio.wait({ending, work}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        close_all(started)
        leave(ending)
    return work.result()


def _end_on_failure(task: asyncio.Task[Any], ending: asyncio.Future[int]) -> None:
    if not task.cancelled() and (error := task.exception()) and not ending.done():
        ending.set_exception(error)


def on_signals(ending: asyncio.Future[int]) -> None:
    """Sets `ending` to the exit code when a signal says to end; a second one ends at once."""

    def stop(number: int) -> None:
        if ending.done():
            # Told twice: whoever is there does not want to wait.
            os._exit(128 + number)
        ending.set_result(128 + number)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # Windows has no such handlers; there Ctrl-C ends the process at once.
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop, number)


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
