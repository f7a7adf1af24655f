"""`Standing`: where in a world a backend's call continues, and who must be through before it."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from agentworld_graphs._batches import Batch
from agentworld_graphs._levels import Level, keeps_checkpoints, levels, wait_for
from agentworld_graphs._place import Place
from agentworld_graphs._seat import Seat
from agentworld_sim import UsageError, WorldRef
from agentworld_sim.runtime.locks import TurnLock

NO_CHANNEL = (
    "this graph keeps checkpoints, but its state has no channel 'sim_ref': after going back in a"
    " thread, the files would be those of later. Give the agent the channel, with"
    " `create_deep_agent(..., state_schema=SimDeepAgentState)` (from agentworld_graphs), or in any"
    " other graph by mixing `SimState` into its state."
)


class Standing:
    """The place of one call of a backend. Made where the call is made, used on any event loop."""

    def __init__(self) -> None:
        self.levels = levels()
        self._own = next((one for one in self.levels if one.has_channel), None)

    @property
    def in_graph(self) -> bool:
        return bool(self.levels)

    @property
    def travels(self) -> bool:
        """Whether the ref travels through the state of a graph. If not, the world goes on from where it
        stands, like a real machine."""
        return self._own is not None

    @property
    def place(self) -> Place | None:
        """What a seat orders and remembers the call by."""
        if self._own is None:
            return None
        inner, outer = self.levels[0], self.levels[-1]
        return Place(
            # All of what one step of the outermost graph does is one batch, subagents included.
            step=(outer.info.thread_id, outer.info.checkpoint_id),
            task=inner.info.task_id,
            call=inner.call,
            attempt=inner.info,
            pass_=None,
            earlier=(),
            tasks=None,
            known=True,
        )

    def require_way_back(self) -> None:
        """
        Raises:
            UsageError: the thread can be gone back in, and the world would not go with it.
        """
        if self.in_graph and self._own is None and keeps_checkpoints(self.levels):
            raise UsageError(NO_CHANNEL)

    async def turn_comes(self) -> None:
        """Waits for the calls that come before this one: in its message, and in the messages whose
        calls the subagents around it are."""
        for level in reversed(self.levels):
            await wait_for(level.earlier_calls)

    def base(self) -> WorldRef | None:
        """Where the outermost step began; `None` at the beginning of its thread."""
        return self._inherited or None

    def stand(self, batch: Batch) -> None:
        """Puts `batch` where this call continues."""
        assert self._own is not None
        here = self._own.ref(fresh=True)
        # What is as it was before the step does not know of the calls before this one; the batch does.
        if here and here != self._inherited:
            batch.tip = here

    def moved(self, ref: WorldRef) -> None:
        """The call is answered; the graph's state learns the new ref."""
        if self._own is not None:
            self._own.send(ref)

    @property
    def _inherited(self) -> str:
        outer = self._outer
        return outer.ref(fresh=False) if outer is not None else ""

    @property
    def _outer(self) -> Level | None:
        return next((one for one in reversed(self.levels) if one.has_channel), None)


_locks: WeakKeyDictionary[Seat, TurnLock] = WeakKeyDictionary()
_guard = threading.Lock()


@asynccontextmanager
async def one_at_a_time(seat: Seat) -> AsyncGenerator[None]:
    """One call of a backend after another: reading the ref, the turn and writing the ref are one."""
    with _guard:
        lock = _locks.setdefault(seat, TurnLock())
    async with lock:
        yield
