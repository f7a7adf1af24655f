"""From the upstreams of the command line to what clients are shown.

A description is read by a model, and a server may change it after it was trusted. So the tools of each
upstream are remembered as hashes when they are first seen, and later ones are compared with them.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agentworld_mcp_shim._listing import Listing
from agentworld_mcp_shim._mirror import MergedMirror, Mirror
from agentworld_mcp_shim._snapshot_file import hide, load_snapshot, write_whole
from agentworld_mcp_shim._upstream import HttpUpstream, list_upstream
from agentworld_sim.errors import UsageError
from agentworld_sim.types.json import canonical_json

if TYPE_CHECKING:
    from agentworld_mcp_shim._settings import ShimSettings, UpstreamTarget
    from agentworld_mcp_shim._upstream import Upstream

logger = logging.getLogger(__name__)

SHOWN_NAMES = 8
"""Of each kind in one warning."""

Seen = Mapping[str, Mapping[str, str]]
"""Hashes of a tool's fields, by its name and the field's."""


async def mirrors_of(settings: ShimSettings, started: Mapping[str, Upstream]) -> dict[str, Mirror]:
    """What clients are shown, by view.

    `""` is what a client over stdio, or at `/mcp`, sees: of a single upstream its native names, of
    several every tool as `UPSTREAM__tool`. Of several there is also one view per upstream, by its name,
    with native names (for `/NAME/mcp`). The world knows a tool by one name in all views.

    Args:
        settings: What the command line says; without targets there are no mirrors.
        started: The upstreams that run, by the name of their target. Those with a snapshot are only
            compared with it.

    Raises:
        UsageError: an upstream does not say what it has, or a snapshot cannot be used.
    """
    if not settings.targets:
        return {}
    tasks = {
        target.name: asyncio.create_task(_listing(settings, target, started.get(target.name)))
        for target in settings.targets
    }
    try:
        await asyncio.gather(*tasks.values())
    except BaseException:
        for task in tasks.values():
            task.cancel()
        raise
    mirrors = {name: Mirror(task.result(), upstream=name) for name, task in tasks.items()}
    if len(mirrors) == 1:
        return {"": next(iter(mirrors.values()))}
    return {"": MergedMirror(mirrors), **mirrors}


async def _listing(
    settings: ShimSettings, target: UpstreamTarget, upstream: Upstream | None
) -> Listing:
    try:
        if target.snapshot is None:
            assert upstream is not None, "a target without a snapshot was not started"
            live = await list_upstream(upstream, seconds=settings.upstream_seconds)
            await asyncio.to_thread(_compare_with_first, settings, target, live)
            return live
        kept = load_snapshot(target.snapshot)
        if upstream is not None:
            await _compare_with_snapshot(settings, target, kept, upstream)
        return kept
    except UsageError as error:
        if not target.name:
            raise
        raise type(error)(f"upstream {target.name!r}: {error}") from error


async def _compare_with_snapshot(
    settings: ShimSettings, target: UpstreamTarget, kept: Listing, upstream: Upstream
) -> None:
    """Says what the upstream lists otherwise than its snapshot, which is what clients are shown."""
    try:
        live = await list_upstream(upstream, seconds=settings.upstream_seconds)
    except UsageError as error:
        if settings.pinned:
            raise
        logger.warning("the snapshot %s cannot be compared: %s", target.snapshot, error)
        return
    changed = changes(field_hashes(kept), field_hashes(hide(live, target.secrets())))
    if changed is not None:
        _warn_or_refuse(
            settings,
            f"the tools of {upstream.shown} are not those of the snapshot {target.snapshot}:"
            f" {changed}. Clients are shown the snapshot. If the change is fine, make it anew with"
            " `agentworld mcp snapshot`.",
        )


def _compare_with_first(settings: ShimSettings, target: UpstreamTarget, live: Listing) -> None:
    """Says what the upstream lists otherwise than when it was first seen."""
    seen = field_hashes(live)
    trusted = trusted_tools(target.command)
    if trusted is None:
        if not settings.worlds.memory:
            trust_tools(target.command, seen)
        return
    changed = changes(trusted, seen)
    if changed is not None:
        # Neither arguments nor what of a URL may be a secret.
        command = f"`{target.command[0]}`"
        shown = HttpUpstream(target.command[0]).shown if "://" in command else command
        _warn_or_refuse(
            settings,
            f"the tools of {shown} have changed since they were first seen: {changed}."
            " A description is read by a model. If the change is fine, `agentworld mcp snapshot` of the"
            " same command accepts it.",
        )


def _warn_or_refuse(settings: ShimSettings, text: str) -> None:
    if settings.pinned:
        raise UsageError(text)
    logger.warning("%s", text)


def field_hashes(listing: Listing) -> Seen:
    """The hashes of what a listing says of its tools. Their order does not matter, nor do pages."""
    named: dict[str, set[tuple[tuple[str, str], ...]]] = {}
    for tool in listing.items("tools/list"):
        fields = cast("dict[str, Any]", tool) if isinstance(tool, dict) else {"": tool}
        name = fields.get("name")
        hashes = sorted((key, _hash(value)) for key, value in fields.items() if key != "name")
        shown = name if isinstance(name, str) else canonical_json(name)
        named.setdefault(shown, set()).add(tuple(hashes))
    # A name that is listed twice, in different words, is two tools.
    return {
        name + number * " (again)": dict(fields)
        for name, different in named.items()
        for number, fields in enumerate(sorted(different))
    }


def changes(old: Seen, new: Seen) -> str | None:
    """What changed between two listings, in words; `None` when nothing did."""
    changed = {
        name: sorted(key for key, _ in old[name].items() ^ new[name].items())
        for name in old.keys() & new.keys()
        if old[name] != new[name]
    }
    found = {
        "added": [repr(name) for name in new.keys() - old.keys()],
        "removed": [repr(name) for name in old.keys() - new.keys()],
        "changed": [
            f"{name!r} ({', '.join(dict.fromkeys(keys))})" for name, keys in changed.items()
        ],
    }
    return "; ".join(f"{what} {_names(names)}" for what, names in found.items() if names) or None


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(sorted(names)[:SHOWN_NAMES]) + more


def trusted_tools(command: Sequence[str]) -> Seen | None:
    """What this user has trusted of an upstream; `None` when it is new."""
    path = _trusted_file(command)
    try:
        seen: dict[str, dict[str, str]] = json.loads(path.read_bytes())
        return {name: dict(fields) for name, fields in seen.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        logger.warning("%s cannot be read, so no tool listing is trusted: %s", path, error)
        return None


def trust_tools(command: Sequence[str], seen: Seen) -> None:
    """Trusts the tools of an upstream from now on."""
    path = _trusted_file(command)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(seen, indent=1, sort_keys=True))


def _trusted_file(command: Sequence[str]) -> Path:
    # A hash, because commands and URLs may hold secrets. Paths are taken as absolute, so that
    # `python server.py` in two folders are two servers.
    words = [os.path.abspath(word) if os.path.exists(word) else word for word in command]
    from agentworld_sim.store.home import home

    return home() / "tool-listings" / f"{_hash(words)}.json"


def _hash(value: object) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:32]
