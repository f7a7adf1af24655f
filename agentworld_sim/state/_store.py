"""Where worlds live: the protocol every store keeps, and the one in memory.

A store holds worlds (an id, a root, a head), turns by ref, states at some refs, and blobs. Turns are
content-addressed and shared: a fork copies nothing. Methods block; `World` calls them off the event
loop when `blocking` is set.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from agentworld_sim.errors import UnknownWorldError, UsageError, nearest
from agentworld_sim.state._changes import WorldState
from agentworld_sim.state._files import BlobId, Blobs, MemoryBlobs, blob_id
from agentworld_sim.state._refs import WorldRef

if TYPE_CHECKING:
    from agentworld_sim.exchanges import FailedStep
    from agentworld_sim.turns import Turn


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
    ) -> bool:
        """Stores the turn, its blobs and all that belongs to it, or nothing at all.

        The head moves if it is the turn's parent. With `must_move_head` nothing is stored otherwise.

        Returns:
            Whether the turn was stored; `False` also when `abandoned()` said so at the last moment.
        """
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
        """The turns from the root to `ref`, oldest first. Raises `UnknownWorldError`."""
        ...

    def remove(self, world_id: str) -> None:
        """Removes a world and all turns that no other world's history needs."""
        ...

    def close(self) -> None: ...


class MemoryStore:
    """Implements `WorldStore` in dictionaries; gone with the process."""

    blocking = False

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blobs = MemoryBlobs()
        self._worlds: dict[str, WorldRecord] = {}
        self._turns: dict[WorldRef, Turn] = {}
        self._states: dict[WorldRef, WorldState] = {}
        self._failures: dict[str, list[FailedStep]] = {}

    @property
    def blobs(self) -> Blobs:
        return self._blobs

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        with self._lock:
            if record.id in self._worlds:
                raise UsageError(id_taken(record.id))
            for data in blobs.values():
                self._blobs.put(data)
            self._worlds[record.id] = record
            self._states[record.head] = state

    def world(self, world_id: str) -> WorldRecord:
        try:
            return self._worlds[world_id]
        except KeyError:
            raise UnknownWorldError(no_world(world_id, self._worlds)) from None

    def worlds(self) -> list[WorldRecord]:
        return list(self._worlds.values())

    def commit(
        self,
        world_id: str,
        turn: Turn,
        state: WorldState,
        blobs: Mapping[BlobId, bytes],
        *,
        must_move_head: bool,
        abandoned: Callable[[], bool] = lambda: False,
    ) -> bool:
        with self._lock:
            record = self.world(world_id)
            moves = record.head == turn.parent
            if abandoned() or (must_move_head and not moves):
                return False
            for data in blobs.values():
                self._blobs.put(data)
            self._turns.setdefault(turn.ref, turn)
            self._states[turn.ref] = state
            if moves:
                self._worlds[world_id] = replace(record, head=turn.ref, turns=record.turns + 1)
            return True

    def add_failure(self, world_id: str, failed: FailedStep, blobs: Mapping[BlobId, bytes]) -> None:
        with self._lock:
            self.world(world_id)
            for data in blobs.values():
                self._blobs.put(data)
            self._failures.setdefault(world_id, []).append(failed)

    def failures(self, world_id: str) -> list[FailedStep]:
        self.world(world_id)
        return list(self._failures.get(world_id, ()))

    def has(self, ref: WorldRef) -> bool:
        return ref in self._states

    def state(self, ref: WorldRef) -> WorldState:
        try:
            return self._states[ref]
        except KeyError:
            raise UnknownWorldError(no_ref(ref)) from None

    def lineage(self, ref: WorldRef) -> list[Turn]:
        if not self.has(ref):
            raise UnknownWorldError(no_ref(ref))
        turns: list[Turn] = []
        while (turn := self._turns.get(ref)) is not None:
            turns.append(turn)
            ref = turn.parent
        return turns[::-1]

    def remove(self, world_id: str) -> None:
        with self._lock:
            self.world(world_id)
            del self._worlds[world_id]
            self._failures.pop(world_id, None)
            if not self._worlds:
                # Refs of a removed world may be held by forks; with no world left nobody holds any.
                self._turns.clear()
                self._states.clear()
                self._blobs = MemoryBlobs()

    def close(self) -> None:
        pass


def id_taken(world_id: str) -> str:
    return (
        f"a world named {world_id!r} exists already. Open it, choose another id, or remove it with"
        f" `agentworld world rm {world_id}`."
    )


def no_world(world_id: str, known: Iterable[str]) -> str:
    known = sorted(known)
    listed = f"There are: {', '.join(known[:10])}" if known else "The store holds no worlds"
    return (
        f"there is no world {world_id!r}. {listed}{', …' if len(known) > 10 else ''}."
        f"{nearest(world_id, known)} `agentworld world ls` lists them."
    )


def no_ref(ref: WorldRef) -> str:
    return (
        f"no point {ref!r} is stored here. A ref names a point of a world's history in the store"
        " where it was made; `agentworld world show ID` lists a world's refs."
    )
