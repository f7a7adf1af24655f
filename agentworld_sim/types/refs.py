"""Names of points in a world's history."""

from __future__ import annotations

import hashlib

from agentworld_sim.types.json import canonical_json

WorldRef = str
"""40 hex digits: the hash of the parent ref and of everything that happened since."""


def hashed(kind: str, value: object) -> WorldRef:
    """The ref of a JSON value; `kind` keeps roots and turns apart."""
    text = f"{kind}\n{canonical_json(value)}"
    return hashlib.blake2b(text.encode(), digest_size=20).hexdigest()


def turn_seed(seed: int, ref: WorldRef) -> int:
    """The seed of the random source in the turn that follows `ref`, in a world seeded `seed`."""
    return int.from_bytes(hashlib.blake2b(f"{seed}:{ref}".encode(), digest_size=8).digest())
