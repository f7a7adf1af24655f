"""What stores keep of a world beside its history: its id and its record."""

from __future__ import annotations

import secrets
from dataclasses import replace
from datetime import UTC, datetime

from agentworld_sim.errors import UsageError
from agentworld_sim.ports.stores import WorldRecord
from agentworld_sim.types.refs import WorldRef


def new_world_id() -> str:
    """A name nobody can guess: 128 random bits."""
    return secrets.token_hex(16)


def check_world_id(world_id: str) -> None:
    """Raises `UsageError` for an id that could not be typed, listed or put into a URL."""
    allowed = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    if not 0 < len(world_id) <= 128 or not set(world_id) <= allowed or world_id[0] in ".-":
        raise UsageError(
            f"{world_id!r} cannot be a world's id. Use 1 to 128 letters, digits, '.', '_' and '-',"
            " beginning with a letter, a digit or '_'."
        )


def record_of_world(world_id: str, root: WorldRef, scenario: str) -> WorldRecord:
    """Of a world that begins at `root`, with its scenario as text."""
    return WorldRecord(id=world_id, root=root, head=root, scenario=scenario, created=_now())


def record_of_fork(here: WorldRecord, world_id: str, ref: WorldRef, turns: int) -> WorldRecord:
    """Of a world that begins at a point of the world `here`, after so many turns."""
    return replace(
        here,
        id=world_id,
        head=ref,
        forked_from=here.id,
        turns=turns,
        expires=0.0,
        created=_now(),
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
