"""What a process keeps of a world's history: points are never changed, so what was read once stays true."""

from __future__ import annotations

from agentworld_sim.ports.stores import WorldStore
from agentworld_sim.runtime.commit import NO_CALL, off_loop
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.turns import Turn


class KeptHistory:
    """The states and turns that a world looked at last."""

    def __init__(self, store: WorldStore) -> None:
        self._store = store
        self._states: dict[WorldRef, WorldState] = {}
        self._calls: tuple[WorldRef, tuple[Turn, ...]] | None = None

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

    def follow(self, turn: Turn) -> None:
        """Goes on to the point after a call."""
        if self._calls is not None and self._calls[0] == turn.parent:
            self._calls = (turn.ref, (*self._calls[1], turn))

    def copy(self) -> KeptHistory:
        """For a fork, which has the same past."""
        made = KeptHistory(self._store)
        made._states, made._calls = dict(self._states), self._calls
        return made

    def clear(self) -> None:
        """Forgets all."""
        self._states.clear()
        self._calls = None
