"""How a turn, or the record of one that failed, gets into a store."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TypeVar

from agentworld_sim.controls.declared import DECLARED
from agentworld_sim.errors import AgentworldError, StoreError
from agentworld_sim.ports.stores import NewBlobs, Origin, WorldStore
from agentworld_sim.types.conditions import PREFIX as CONDITIONS
from agentworld_sim.types.exchanges import FailedStep
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Action, Observation, Turn

T = TypeVar("T")

COMMIT_TRIES = 32
"""How often a step is computed again because another process moved the head meanwhile."""

LONGEST_PAUSE_S = 0.064

_host_random = random.SystemRandom()
"""How long one waits for others is no part of any world."""

NO_CALL = ""
"""The call name of turns that answer no call: a fork's new seed, a merge. No tool has it."""


async def off_loop(store: WorldStore, work: Callable[[], T]) -> T:
    """`work`, off the event loop if the store would block it."""
    return await asyncio.to_thread(work) if store.blocking else work()


async def commit_turn(
    store: WorldStore,
    world_id: str,
    turn: Turn,
    after: WorldState,
    blobs: NewBlobs,
    *,
    must_move_head: bool,
    origin: Origin | None = None,
) -> bool:
    """Stores the turn. A cancellation before the last moment stores nothing."""
    if not store.blocking:
        return store.commit(
            world_id, turn, after, blobs.new, must_move_head=must_move_head, origin=origin
        )
    abandoned = threading.Event()

    def commit() -> bool:
        return store.commit(
            world_id,
            turn,
            after,
            blobs.new,
            must_move_head=must_move_head,
            abandoned=abandoned.is_set,
            origin=origin,
        )

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


def reseeding(head: WorldRef, before: WorldState, seed: int) -> Turn:
    """The turn that gives a world another seed."""
    return Turn(
        parent=head,
        call=ToolCall(NO_CALL, {"seed": seed}),
        action=Action(""),
        observation=Observation(text="", provenance="enforced"),
        change=StateChange(clock_us=before.clock_us, seed=seed),
    )


def unhindered(head: WorldRef, before: WorldState) -> Turn | None:
    """The turn after which no declared control and no condition holds any more; `None` where none does."""
    hindering = [key for key in before.values if key == DECLARED or key.startswith(CONDITIONS)]
    if not hindering:
        return None
    return Turn(
        parent=head,
        call=ToolCall(NO_CALL),
        action=Action(""),
        observation=Observation(text="", provenance="enforced"),
        change=StateChange(clock_us=before.clock_us, values=dict.fromkeys(hindering)),
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
