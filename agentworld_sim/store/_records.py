"""How states, blobs and world records lie in a database: the same in every store that has one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import LiteralString

from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.turns import Turn

SNAPSHOT_EVERY = 32
"""A state is stored whole every so many turns; between, it is fold_turns from the turns' changes."""

NEIGHBOURS = 20
"""Ids looked at on each side of one that is unknown; more would cost as much as all."""

WORTH_PACKING = 256
"""Blobs below this many bytes are stored as they are."""

COLUMNS: LiteralString = "id, root, head, scenario, created, forked_from, turns, expires"
"""Of the table of worlds: the fields of a world record, in their order."""


def pack(data: bytes) -> tuple[bool, bytes]:
    """A blob as stored: compressed when that saves space, and whether it is."""
    if len(data) < WORTH_PACKING:
        return False, data
    small = zlib.compress(data, 1)
    return (True, small) if len(small) < len(data) else (False, data)


def unpack(is_packed: bool, data: bytes) -> bytes:
    """The blob that was stored so."""
    return zlib.decompress(data) if is_packed else data


def pack_state(state: WorldState) -> bytes:
    """A whole state as stored."""
    return zlib.compress(canonical_json(state.to_json()).encode(), 1)


def unpack_state(data: bytes) -> WorldState:
    """The state that was stored so."""
    return WorldState.from_json(json.loads(zlib.decompress(data)))


def fold_turns(snapshot: bytes, records: Iterable[str]) -> WorldState:
    """The state after the turns that `records` hold, the oldest first, on top of a stored one."""
    state = unpack_state(snapshot)
    for record in records:
        state = state.after(Turn.from_line(record).change)
    return state


def in_order(turns: Iterable[Turn], ref: WorldRef) -> list[Turn]:
    """The turns that lead to `ref`, oldest first; the branches of a merge one after another.

    Args:
        turns: Those and no others, in any order.
        ref: The last point.
    """
    by_ref = {turn.ref: turn for turn in turns}
    found: dict[WorldRef, Turn] = {}
    # A ref comes up again once all before it are there.
    waiting = [ref]
    while waiting:
        turn = by_ref.get(waiting[-1])
        missing = (
            [one for one in turn.parents if one in by_ref and one not in found] if turn else ()
        )
        if missing:
            waiting += reversed(missing)
            continue
        waiting.pop()
        if turn is not None:
            found.setdefault(turn.ref, turn)
    return list(found.values())


def failure_owner(world_id: str) -> str:
    """What stands for the failures of a world where blobs are counted. No ref looks like it."""
    return f"failures:{world_id}"
