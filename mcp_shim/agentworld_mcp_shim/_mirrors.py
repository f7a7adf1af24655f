"""From the upstreams of the command line to what clients are shown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentworld_mcp_shim._mirror import MergedMirror, Mirror
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
        return {"": Mirror(listings[0], upstream=settings.targets[0].name)}
    own = {name: Mirror(listing, upstream=name) for name, listing in named.items()}
    return {"": MergedMirror(own), **own}


async def _listing(
    settings: ShimSettings, target: UpstreamTarget, upstream: Upstream | None
) -> Listing:
    try:
        if target.snapshot is None:
            assert upstream is not None, "a target without a snapshot was not started"
            live = await _asked(settings, upstream)
            await asyncio.to_thread(_hold_against_memory, settings, target, live)
            return live
        from agentworld_mcp_shim._snapshot import load_snapshot

        kept = load_snapshot(target.snapshot).listing
        if upstream is not None:
            await _hold_against_live(settings, target, kept, upstream)
        return kept
    except UsageError as error:
        if not target.name:
            raise
        raise type(error)(f"upstream {target.name!r}: {error}") from error


async def _asked(settings: ShimSettings, upstream: Upstream) -> Listing:
    from agentworld_mcp_shim._upstream import list_upstream

    return await list_upstream(upstream, seconds=settings.upstream_seconds)


async def _hold_against_live(
    settings: ShimSettings, target: UpstreamTarget, kept: Listing, upstream: Upstream
) -> None:
    """Says what the upstream lists otherwise than its snapshot, which is what clients are shown."""
    from agentworld_mcp_shim._tool_listing import changes, seen_in

    try:
        live = await _asked(settings, upstream)
    except UsageError as error:
        if settings.pinned:
            raise
        logger.warning("the snapshot %s cannot be compared: %s", target.snapshot, error)
        return
    from agentworld_mcp_shim._snapshot import hide

    changed = changes(seen_in(kept), seen_in(hide(live, target.secrets())))
    if changed is not None:
        _tell(
            settings,
            f"the tools of {upstream.shown} are not those of the snapshot {target.snapshot}:"
            f" {changed}. Clients are shown the snapshot. If the change is fine, make it anew with"
            " `agentworld mcp snapshot`.",
        )


def _hold_against_memory(settings: ShimSettings, target: UpstreamTarget, live: Listing) -> None:
    """Says what the upstream lists otherwise than when it was first seen."""
    from agentworld_mcp_shim._tool_listing import ToolListings, changes, seen_in, upstream_key
    from agentworld_sim.store.home import home

    listings = ToolListings(home())
    key, seen = upstream_key(target.command), seen_in(live)
    trusted = listings.trusted(key)
    if trusted is None:
        if not settings.worlds.memory:
            listings.remember(key, seen)
        return
    changed = changes(trusted, seen)
    if changed is not None:
        _tell(
            settings,
            f"the tools of {shown_command(target)} have changed since they were first seen: {changed}."
            " A description is read by a model. If the change is fine, `agentworld mcp snapshot` of the"
            " same command accepts it.",
        )


def _tell(settings: ShimSettings, text: str) -> None:
    from agentworld_mcp_shim._tool_listing import ToolsChanged

    if settings.pinned:
        raise ToolsChanged(text)
    logger.warning("%s", text)


def shown_command(target: UpstreamTarget) -> str:
    """The target's command or URL for messages, without what may be a secret."""
    first = target.command[0]
    if not first.startswith(("http://", "https://")):
        return f"`{first}`"
    from agentworld_mcp_shim._upstream import HttpUpstream

    return HttpUpstream(first).shown
