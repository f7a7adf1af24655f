"""`agentworld mcp --http`: from the command line to processes that answer."""

from __future__ import annotations

import asyncio
import gc
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentworld_mcp_shim._http._address import bound_socket, check_exposure
from agentworld_mcp_shim._http._serving import Plan, is_real, serve_plan
from agentworld_mcp_shim._mirror import Mirror, world_listing
from agentworld_mcp_shim._mirrors import mirrors_of
from agentworld_mcp_shim._pool import WorldPool
from agentworld_mcp_shim._settings import HttpSettings, ShimSettings
from agentworld_mcp_shim._world_keys import Run
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim._upstream import Upstream

logger = logging.getLogger(__name__)


def check_http(settings: ShimSettings) -> None:
    """Raises `UsageError` when what is asked for cannot be, or would be dangerous."""
    http = settings.http
    assert http is not None
    check_exposure(http)
    if settings.targets and http.workers > 1 and is_real(settings):
        raise UsageError(
            "--workers and access `real` do not go together: a connection to a real server belongs to"
            " one process. Leave --workers out, or simulate all tools."
        )
    if http.workers > 1 and settings.record is not None:
        raise UsageError("--workers and recording do not go together: a cassette has one writer.")
    if http.workers > 1 and settings.worlds.memory:
        raise UsageError(
            "--memory keeps worlds in one process, and --workers asks for several. Leave one out."
        )


def serve_http(started: Mapping[str, Upstream], settings: ShimSettings) -> int:
    """Serves clients over HTTP until a signal comes; gives the exit code.

    Raises:
        UsageError: the address, an upstream or an option is wrong.
        AgentworldError: the store or the scenario cannot be used.
    """
    http = settings.http
    assert http is not None
    check_http(settings)
    listening = bound_socket(http.host, http.port)
    run = Run() if settings.worlds.world_id is None else Run(world=settings.worlds.world_id)
    with tempfile.TemporaryDirectory(
        prefix="agentworld-mcp-", ignore_cleanup_errors=True
    ) as folder:
        if http.workers > 1:
            run = replace(run, folder=Path(folder))
        mirrors = asyncio.run(_mirrors(started, settings, run))
        for warning in mirrors[""].warnings:
            logger.warning("%s", warning)
        port: int = listening.getsockname()[1]
        plan = Plan(settings=settings, port=port, mirrors=mirrors, run=run)

        def ready() -> None:
            click.echo(f"agentworld: {_ready_text(plan, http)}", err=True)

        if http.workers == 1:
            return asyncio.run(serve_plan(plan, listening, ready=ready))
        from agentworld_mcp_shim._http._workers import watch_over

        gc.enable()
        try:
            return watch_over(plan, listening, ready=ready)
        finally:
            asyncio.run(_remove_unused(plan))


async def _mirrors(
    started: Mapping[str, Upstream], settings: ShimSettings, run: Run
) -> dict[str, Mirror]:
    if settings.targets:
        return await mirrors_of(settings, started)
    pool = WorldPool(settings, run=run)
    try:
        return {"": Mirror(world_listing(await pool.begin()))}
    finally:
        pool.show(None)
        await pool.aclose()


async def _remove_unused(plan: Plan) -> None:
    """Removes what the workers left of a world that nobody used."""
    pool = WorldPool(plan.settings, run=plan.run)
    await pool.probe()
    await pool.aclose()


def _ready_text(plan: Plan, http: HttpSettings) -> str:
    host = f"[{http.host}]" if ":" in http.host else http.host
    base = f"http://{host}:{plan.port}"
    urls = ", ".join(f"{base}/{name}/mcp" if name else f"{base}/mcp" for name in plan.mirrors)
    kept = f", kept for {_duration_text(http.world_seconds)}" if http.world_seconds else ""
    real = sorted(name for name, access in plan.settings.access.items() if access == "real")
    default = f" {plan.run.world}" if plan.settings.worlds.world_id else " of this run"
    return (
        f"serving {urls}; a world per session or name{kept}, else the world{default};"
        f" real: {', '.join(real) or 'nothing'}"
    )


def _duration_text(seconds: float) -> str:
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} seconds"
