"""Worlds in the memory of this process."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from agentworld_sim.errors import UnknownWorldError, UsageError
from agentworld_sim.ports.stores import Origin, WorldRecord, id_taken, no_ref, no_world
from agentworld_sim.store._sql import NEIGHBOURS, SNAPSHOT_EVERY, failure_owner, in_order
from agentworld_sim.types.files import BlobId, Blobs, MemoryBlobs
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState

if TYPE_CHECKING:
    from agentworld_sim.types.exchanges import FailedStep
    from agentworld_sim.types.turns import Turn


class MemoryStore:
    """Implements `WorldStore` in dictionaries; gone with the process."""

    blocking = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._blobs = MemoryBlobs()
        self._worlds: dict[str, WorldRecord] = {}
        self._turns: dict[WorldRef, Turn] = {}
        self._depths: dict[WorldRef, int] = {}
        self._states: dict[WorldRef, WorldState] = {}
        self._failures: dict[str, list[FailedStep]] = {}
        self._held: dict[str, set[WorldRef]] = {}
        self._batches: dict[str, dict[str, list[tuple[str, WorldRef]]]] = {}
        """By world and batch."""
        self._needs: Counter[WorldRef] = Counter()
        """How many worlds hold a point, and how many turns follow it."""
        self._uses: dict[str, set[BlobId]] = {}
        self._users: Counter[BlobId] = Counter()

    @property
    def blobs(self) -> Blobs:
        return self._blobs

    def create(self, record: WorldRecord, state: WorldState, blobs: Mapping[BlobId, bytes]) -> None:
        with self._lock:
            if record.id in self._worlds:
                raise UsageError(id_taken(record.id))
            if record.head != record.root:
                self._require(record.head)
            elif record.root not in self._depths:
                self._depths[record.root] = 0
                self._use(record.root, state.blobs(), blobs)
            self._worlds[record.id] = record
            self._held[record.id] = set()
            self._hold(record.id, record.head)
            self._states.setdefault(record.head, state)

    def world(self, world_id: str) -> WorldRecord:
        with self._lock:
            try:
                return self._worlds[world_id]
            except KeyError:
                # As in the other stores, whoever asks for one of very many is not kept waiting.
                known = islice(reversed(self._worlds), 2 * NEIGHBOURS)
                raise UnknownWorldError(no_world(world_id, known)) from None

    def worlds(self) -> list[WorldRecord]:
        with self._lock:
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
        origin: Origin | None = None,
    ) -> bool:
        with self._lock:
            record = self.world(world_id)
            moves = record.head in turn.parents
            if abandoned() or (must_move_head and not moves):
                return False
            for parent in turn.parents:
                self._require(parent)
            if turn.ref not in self._turns:
                self._turns[turn.ref] = turn
                self._depths[turn.ref] = self._depths[turn.parent] + 1
                if turn.merged:
                    self._depths[turn.ref] = len(self.lineage(turn.ref))
                self._needs.update(turn.parents)
                self._use(turn.ref, turn.blobs(), blobs)
            depth = self._depths[turn.ref]
            self._hold(world_id, turn.ref)
            if origin is not None:
                asked = self._batches.setdefault(world_id, {}).setdefault(origin.batch, [])
                asked.append((origin.call, turn.ref))
            if depth % SNAPSHOT_EVERY == 0:
                self._states.setdefault(turn.ref, state)
            if moves:
                self._worlds[world_id] = replace(record, head=turn.ref, turns=depth)
            return True

    def batch_turns(self, world_id: str, batch: str) -> list[tuple[str, Turn]]:
        with self._lock:
            found = self._batches.get(world_id, {}).get(batch, ())
            return [(call, self._turns[ref]) for call, ref in found]

    def rewind(self, world_id: str, ref: WorldRef) -> WorldRecord:
        with self._lock:
            record = self.world(world_id)
            held = self._held[world_id]
            if ref not in held and ref not in self._past(held):
                raise UnknownWorldError(no_ref(ref, world_id))
            record = replace(record, head=ref, turns=self._depths[ref])
            self._worlds[world_id] = record
            return record

    def extend(self, world_id: str, expires: float) -> None:
        with self._lock:
            self._worlds[world_id] = replace(self.world(world_id), expires=expires)

    def add_failure(self, world_id: str, failed: FailedStep, blobs: Mapping[BlobId, bytes]) -> None:
        with self._lock:
            self.world(world_id)
            self._use(failure_owner(world_id), failed.blobs(), blobs)
            self._failures.setdefault(world_id, []).append(failed)

    def failures(self, world_id: str) -> list[FailedStep]:
        with self._lock:
            self.world(world_id)
            return list(self._failures.get(world_id, ()))

    def has(self, ref: WorldRef) -> bool:
        return ref in self._depths

    def state(self, ref: WorldRef) -> WorldState:
        with self._lock:
            self._require(ref)
            changes: list[Turn] = []
            while (state := self._states.get(ref)) is None:
                changes.append(self._turns[ref])
                ref = changes[-1].parent
        for turn in reversed(changes):
            state = state.after(turn.change)
        return state

    def lineage(self, ref: WorldRef) -> list[Turn]:
        with self._lock:
            self._require(ref)
            past = self._past({ref})
            return in_order((turn for one in past if (turn := self._turns.get(one))), ref)

    def remove(self, world_id: str) -> None:
        with self._lock:
            self.world(world_id)
            self._remove(world_id)

    def remove_expired(self, now: float) -> list[str]:
        with self._lock:
            expired = [one.id for one in self._worlds.values() if 0 < one.expires <= now]
            for world_id in expired:
                self._remove(world_id)
            return expired

    def close(self) -> None:
        pass

    def _require(self, ref: WorldRef) -> None:
        if not self.has(ref):
            raise UnknownWorldError(no_ref(ref))

    def _hold(self, world_id: str, ref: WorldRef) -> None:
        if ref not in self._held[world_id]:
            self._held[world_id].add(ref)
            self._needs[ref] += 1

    def _past(self, refs: Iterable[WorldRef]) -> set[WorldRef]:
        """The points, and all before them."""
        seen: set[WorldRef] = set()
        waiting = list(refs)
        while waiting:
            ref = waiting.pop()
            turn = self._turns.get(ref)
            if turn is not None and ref not in seen:
                waiting += turn.parents
            seen.add(ref)
        return seen

    def _use(self, owner: str, needed: Iterable[BlobId], blobs: Mapping[BlobId, bytes]) -> None:
        for data in blobs.values():
            self._blobs.put(data)
        used = self._uses.setdefault(owner, set())
        new = set(needed) - used
        used |= new
        self._users.update(new)

    def _remove(self, world_id: str) -> None:
        del self._worlds[world_id]
        self._failures.pop(world_id, None)
        self._batches.pop(world_id, None)
        self._release(failure_owner(world_id))
        for ref in self._held.pop(world_id):
            self._need_less(ref)

    def _need_less(self, ref: WorldRef) -> None:
        """Takes one need from a point; one that nobody needs any more goes, and so backwards."""
        less = [ref]
        while less:
            ref = less.pop()
            self._needs[ref] -= 1
            if self._needs[ref] > 0:
                continue
            del self._needs[ref], self._depths[ref]
            self._states.pop(ref, None)
            self._release(ref)
            turn = self._turns.pop(ref, None)
            if turn is not None:
                less += turn.parents

    def _release(self, owner: str) -> None:
        for blob in self._uses.pop(owner, ()):
            self._users[blob] -= 1
            if not self._users[blob]:
                del self._users[blob]
                self._blobs.discard(blob)
