"""The history of a world: what a process keeps of it, and how turns, failures and worlds get into a store."""

from __future__ import annotations

import asyncio
import random
import secrets
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, TypeVar

from agentworld_sim.controls.control_list import DECLARED, ControlList
from agentworld_sim.errors import AgentworldError, HeadMoved, StoreError, UsageError
from agentworld_sim.ports.blocking import ALLOWED, BRIEF_BYTES, BRIEF_ENTRIES
from agentworld_sim.ports.stores import NewBlobs, Origin, WorldRecord, WorldStore
from agentworld_sim.types.conditions import PREFIX as CONDITIONS
from agentworld_sim.types.exchanges import FailedStep
from agentworld_sim.types.files import FileTree
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Action, Observation, Turn


class HistoryCache:
    """The states and turns that a world looked at last."""

    def __init__(self, store: WorldStore) -> None:
        self._store = store
        self._states: dict[WorldRef, WorldState] = {}
        self._calls: tuple[WorldRef, tuple[Turn, ...]] | None = None
        self._switched: tuple[WorldRef, frozenset[WorldRef]] = ("", frozenset())

    async def state(self, ref: WorldRef) -> WorldState:
        """The state at a point."""
        held = self._states.get(ref)
        if held is None:
            held = await off_loop(self._store, lambda: self._store.state(ref))
            self.keep(ref, held)
        return held

    def keep(self, ref: WorldRef, state: WorldState) -> None:
        """Keeps the state at a point."""
        # Two are enough: where the world stands, and where somebody looks back to.
        while len(self._states) > 1:
            del self._states[next(iter(self._states))]
        self._states[ref] = state

    async def lineage(self, ref: WorldRef) -> list[Turn]:
        """All turns from the root to a point, those too that answer no call."""
        return await off_loop(self._store, lambda: self._store.lineage(ref))

    async def calls(self, ref: WorldRef) -> tuple[Turn, ...]:
        """The calls from the root to a point; kept, because an engine that imagines asks each time."""
        if self._calls is None or self._calls[0] != ref:
            turns = await self.lineage(ref)
            self._calls = (ref, tuple(turn for turn in turns if turn.call.name != NO_CALL))
        return self._calls[1]

    async def after_switches(self, at: WorldRef, head: WorldRef) -> WorldRef:
        """Where a call that is asked at `at` is answered: at `head`, if nothing but switches of controls
        lies between. An agent whose run carries the point where it stands meets them too."""
        if at != head and self._switched[0] != head:
            switches = list(takewhile(is_switch, reversed(await self.lineage(head))))
            self._switched = head, frozenset(turn.parent for turn in switches)
        return head if at in self._switched[1] else at

    def follow(self, turn: Turn) -> None:
        """Goes on to the point after a call."""
        if self._switched[0] == turn.parent:
            self._switched = turn.ref, frozenset()
        if self._calls is not None and self._calls[0] == turn.parent:
            self._calls = (turn.ref, (*self._calls[1], turn))

    def copy(self) -> HistoryCache:
        """For a fork, which has the same past."""
        made = HistoryCache(self._store)
        made._states, made._calls = dict(self._states), self._calls
        return made

    def clear(self) -> None:
        """Forgets all."""
        self._states.clear()
        self._calls, self._switched = None, ("", frozenset())


T = TypeVar("T")

COMMIT_TRIES = 32
"""How often a step is computed again because another process moved the head meanwhile."""

LONGEST_PAUSE_S = 0.064

_host_random = random.SystemRandom()
"""How long one waits for others is no part of any world."""

NO_CALL = ""
"""The call name of turns that answer no call: a fork's new seed, a merge, a switch of controls. No tool has it."""


async def off_loop(store: WorldStore, work: Callable[[], T]) -> T:
    """`work`, off the event loop if the store would block it."""
    return await asyncio.to_thread(work) if store.blocking else work()


async def commit_turn(
    store: WorldStore,
    world_id: str,
    turn: Turn,
    after: WorldState,
    blobs: NewBlobs | None = None,
    *,
    must_move_head: bool,
    origin: Origin | None = None,
) -> bool:
    """Stores the turn. A cancellation before the last moment stores nothing."""
    abandoned = threading.Event()
    new = blobs.new if blobs else {}

    def commit() -> bool:
        return store.commit(
            world_id,
            turn,
            after,
            new,
            must_move_head=must_move_head,
            abandoned=abandoned.is_set,
            origin=origin,
        )

    if not store.blocking:
        return commit()
    brief = (
        len(after.files) + len(after.values) <= BRIEF_ENTRIES
        and sum(map(len, new.values())) <= BRIEF_BYTES
    )
    at_once = getattr(store, "without_waiting", None) if brief and ALLOWED.get() else None
    if at_once is not None and (stored := at_once(commit)) is not None:
        return stored
    running = asyncio.ensure_future(asyncio.to_thread(commit))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        abandoned.set()
        await asyncio.wait([running])
        raise


async def back_off(failed: int) -> None:
    """Lets others through, after this many tries in vain: those that try again at the same moment would only
    stand in each other's way again."""
    await asyncio.sleep(_host_random.uniform(0, min(LONGEST_PAUSE_S, 0.001 * 2**failed)))


def head_moved(world_id: str, what: str) -> HeadMoved:
    """What is raised when others were faster each time; `what` was being done."""
    return HeadMoved(
        f"the world {world_id!r} was moved on by others {COMMIT_TRIES} times while {what}. Nothing was"
        " stored; try again, or fork."
    )


def turn_with_seed(head: WorldRef, before: WorldState, seed: int) -> Turn:
    """The turn that gives a world another seed."""
    change = StateChange(clock_us=before.clock_us, seed=seed)
    return _turn_without_call(head, change, {"seed": seed})


def turn_before_judging(
    head: WorldRef, before: WorldState, files: FileTree | None = None
) -> Turn | None:
    """The turn after which no declared control and no condition holds any more, and the files are these; `None`
    where that changes nothing."""
    hindering = [key for key in before.values if key == DECLARED or key.startswith(CONDITIONS)]
    new = {} if files is None else before.files.changes_to(files)
    change = StateChange(clock_us=before.clock_us, values=dict.fromkeys(hindering), files=new)
    return _turn_without_call(head, change, {}) if hindering or new else None


def turn_with_controls(
    head: WorldRef,
    before: WorldState,
    controls: ControlList,
    add: Sequence[Any],
    remove: Sequence[str],
) -> Turn:
    """The turn that switches declared controls on, as a scenario writes them, and off, by name.

    Raises:
        UsageError: two have one name, or there is none to switch off.
    """
    values = controls.values_after_switch(before, add, remove)
    change = StateChange(clock_us=before.clock_us, values=values)
    return _turn_without_call(head, change, {"add": list(add), "remove": list(remove)})


def is_switch(turn: Turn) -> bool:
    """Whether a turn switched controls, and nothing else."""
    return turn.call.name == NO_CALL and not turn.merged and DECLARED in turn.change.values


def _turn_without_call(head: WorldRef, change: StateChange, arguments: dict[str, Any]) -> Turn:
    return Turn(
        parent=head,
        call=ToolCall(NO_CALL, arguments),
        action=Action(""),
        observation=Observation(text="", provenance="enforced"),
        change=change,
    )


async def keep_failure(
    store: WorldStore,
    world_id: str,
    error: AgentworldError,
    call: ToolCall,
    base: WorldRef,
    blobs: NewBlobs,
) -> None:
    """Keeps what the model said in a step that failed, for people to look at."""
    failed = FailedStep(
        base=base,
        call=call,
        error=str(error),
        exchanges=error.exchanges,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
    )

    def keep() -> None:
        needed = {name: blobs.get(name) for name in failed.blobs()}
        store.add_failure(world_id, failed, needed)

    # The failure of the step is the news; that it could not be kept as well is not.
    with suppress(StoreError):
        await off_loop(store, keep)


def new_world_id() -> str:
    """A name nobody can guess: 128 random bits."""
    return secrets.token_hex(16)


def world_id_or_new(world_id: str | None) -> str:
    """The id, where it is one, or a new one. Raises `UsageError` as `check_world_id`."""
    if world_id is None:
        return new_world_id()
    check_world_id(world_id)
    return world_id


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
