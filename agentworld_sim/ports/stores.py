"""Where worlds live: the protocol every store keeps.

A store holds worlds (an id, a root, a head), turns by ref, states at some refs, and blobs. Turns are
content-addressed and shared: a fork copies nothing. Methods block; `World` calls them off the event
loop when `blocking` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agentworld_sim.errors import nearest
from agentworld_sim.types.files import BlobId, Blobs, blob_id
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState

if TYPE_CHECKING:
    from agentworld_sim.types.exchanges import FailedStep
    from agentworld_sim.types.turns import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldRecord:
    """What a store knows of one world."""

    id: str
    root: WorldRef
    head: WorldRef
    scenario: str
    """The scenario's canonical JSON."""
    created: str = ""
    """Host time, ISO 8601; for people only."""
    forked_from: str = ""
    turns: int = 0
    """Turns between root and head."""
    expires: float = 0.0
    """Host time, seconds since the epoch: `remove_expired` removes the world from then on. 0: never."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asked for a turn, in words of the asker's own.

    Kept beside the history and no part of a ref. Whoever was stopped in the middle of something finds
    the answers it has by it (`WorldStore.batch_turns`), in any process.
    """

    batch: str
    """What it looks for them by: hexadecimal digits, a hash of anything."""
    call: str
    """Which of them this is; ASCII."""


class NewBlobs:
    """Blobs of an uncommitted turn, in front of a store's."""

    def __init__(self, behind: Blobs) -> None:
        self._behind = behind
        self.new: dict[BlobId, bytes] = {}

    def put(self, data: bytes) -> BlobId:
        name = blob_id(data)
        self.new[name] = data
        return name

    def get(self, blob: BlobId) -> bytes:
        held = self.new.get(blob)
        return self._behind.get(blob) if held is None else held


class WorldStore(Protocol):
    """Keeps worlds. Safe for use from several threads."""

    blocking: bool
    """Whether calls touch a disk or a network."""

    @property
    def blobs(self) -> Blobs: ...

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        """Adds a world whose root or fork point is `record.head`, with the state there.

        Raises:
            UsageError: the id is taken.
            UnknownWorldError: the fork point is stored no more.
        """
        ...

    def world(self, world_id: str) -> WorldRecord:
        """Raises `UnknownWorldError`, naming the nearest id."""
        ...

    def worlds(self) -> list[WorldRecord]:
        """All worlds, oldest first."""
        ...

    def commit(
        self,
        world_id: str,
        turn: Turn,
        state: WorldState,
        blobs: Mapping[BlobId, bytes],
        *,
        must_move_head: bool,
        abandoned: Callable[[], bool] = lambda: False,
        origin: Origin | None = None,
    ) -> bool:
        """Stores the turn, its blobs and all that belongs to it, or nothing at all.

        The head moves if it is the turn's parent, or one of them in a merge. With `must_move_head` nothing is stored otherwise.
        `origin` is kept with the turn, also when the turn itself is stored already.

        Returns:
            Whether the turn was stored; `False` also when `abandoned()` said so at the last moment.

        Raises:
            UnknownWorldError: no such world, or a parent of the turn is stored no more.
        """
        ...

    def batch_turns(self, world_id: str, batch: str) -> list[tuple[str, Turn]]:
        """The turns that a world has given in one batch: `Origin.call` and turn, oldest first."""
        ...

    def rewind(self, world_id: str, ref: WorldRef) -> WorldRecord:
        """Moves the head to a point of the world's own history. All turns stay, with their refs.

        Raises:
            UnknownWorldError: no such world, or the point is not of its history.
        """
        ...

    def extend(self, world_id: str, expires: float) -> None:
        """Sets when the world expires; 0 for never. Raises `UnknownWorldError`."""
        ...

    def add_failure(self, world_id: str, failed: FailedStep, blobs: Mapping[BlobId, bytes]) -> None:
        """Keeps a step that gave no turn, beside the world's history."""
        ...

    def failures(self, world_id: str) -> list[FailedStep]:
        """What was kept so, oldest first. Raises `UnknownWorldError`."""
        ...

    def has(self, ref: WorldRef) -> bool:
        """Whether `ref` is a root or a turn that is stored here."""
        ...

    def state(self, ref: WorldRef) -> WorldState:
        """The state at `ref`. Raises `UnknownWorldError`."""
        ...

    def lineage(self, ref: WorldRef) -> list[Turn]:
        """The turns from the root to `ref`, oldest first; the branches of a merge one after another (`in_order`).
        Raises `UnknownWorldError`."""
        ...

    def remove(self, world_id: str) -> None:
        """Removes a world and all turns that no other world's history needs."""
        ...

    def remove_expired(self, now: float) -> list[str]:
        """Removes the worlds that have expired at the host time `now`; gives their ids."""
        ...

    def close(self) -> None: ...


def id_taken(world_id: str) -> str:
    return (
        f"a world named {world_id!r} exists already. Open it, choose another id, or remove it with"
        f" `agentworld world rm {world_id}`."
    )


def no_world(world_id: str, known: Iterable[str]) -> str:
    """What to say of an unknown id; `known` are all ids, or those next to it in order."""
    known = sorted(known)
    listed = f"There are: {', '.join(known[:10])}" if known else "The store holds no worlds"
    return (
        f"there is no world {world_id!r}. {listed}{', …' if len(known) > 10 else ''}."
        f"{nearest(world_id, known)} `agentworld world ls` lists them."
    )


def no_ref(ref: WorldRef, world_id: str = "") -> str:
    whose = f"in the history of the world {world_id!r}" if world_id else "stored here"
    return (
        f"no point {ref!r} is {whose}. A ref names a point of a world's history in the store"
        " where it was made; `agentworld world show ID` lists a world's refs."
    )
