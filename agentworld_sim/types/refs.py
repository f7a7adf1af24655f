"""Names of points in a world's history."""

from __future__ import annotations

import hashlib

from agentworld_sim.types.json import canonical_json

WorldRef = str
"""40 hex digits: the hash of the parent ref and of everything that happened since. Where branches have not
met yet, their tips joined with `+`."""


TIPS = "+"
"""Between the last points of branches that have not met yet."""


def tips_of(point: WorldRef) -> list[WorldRef]:
    """The points that `point` names: one, or the tips of branches, in order."""
    return point.split(TIPS)


def hash_ref(kind: str, value: object) -> WorldRef:
    """The ref of a JSON value; `kind` keeps roots and turns apart."""
    text = f"{kind}\n{canonical_json(value)}"
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def turn_seed(seed: int, ref: WorldRef) -> int:
    """The seed of the random source in the turn that follows `ref`, in a world seeded `seed`."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{ref}".encode(), digest_size=8).digest())
