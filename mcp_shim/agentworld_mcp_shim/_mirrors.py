"""From the upstreams of the command line to what clients are shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentworld_mcp_shim._merged import MergedMirror
from agentworld_mcp_shim._mirror import Mirror
from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_mcp_shim._listing import Listing
    from agentworld_mcp_shim._settings import ShimSettings, UpstreamTarget
    from agentworld_mcp_shim._upstream import Upstream

logger = logging.getLogger(__name__)


async def mirrors_of(settings: ShimSettings, started: Mapping[str, Upstream]) -> dict[str, Mirror]:
    """What clients are shown, by view.

    `""` is what a client over stdio, or at `/mcp`, sees: of a single upstream its native names, of
    several every tool as `UPSTREAM__tool`. Of several there is also one view per upstream, by its name,
    with native names (for `/NAME/mcp`). The world knows a tool by one name in all views.

    Args:
        settings: What the command line says; without targets there are no mirrors.
        started: The upstreams that run, by the name of their target. Those with a snapshot are not
            asked for anything.

    Raises:
        UsageError: an upstream does not say what it has, or a snapshot cannot be used.
    """
    if not settings.targets:
        return {}
    tasks = [
        asyncio.create_task(_listing(settings, target, started.get(target.name)))
        for target in settings.targets
    ]
    try:
        listings = await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        raise
    named = {
        target.name: listing for target, listing in zip(settings.targets, listings, strict=True)
    }
    if len(named) == 1:
        return {"": Mirror(listings[0])}
    own = {name: Mirror(listing, upstream=name) for name, listing in named.items()}
    return {"": MergedMirror(own), **own}


async def _listing(
    settings: ShimSettings, target: UpstreamTarget, upstream: Upstream | None
) -> Listing:
    try:
        if target.snapshot is not None:
            from agentworld_mcp_shim._snapshot import load_snapshot

            return load_snapshot(target.snapshot).listing
        assert upstream is not None, "a target without a snapshot was not started"
        from agentworld_mcp_shim._upstream import list_upstream

        return await list_upstream(upstream, seconds=settings.upstream_seconds)
    except UsageError as error:
        if not target.name:
            raise
        raise type(error)(f"upstream {target.name!r}: {error}") from error
