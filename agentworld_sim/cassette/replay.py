"""An engine that answers from a cassette, through a world: replays have history, forks and refs."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from agentworld_sim.cassette._cassette import Cassette
from agentworld_sim.cassette._matching import differences, nearest_call, same, without_volatile
from agentworld_sim.cassette._miss import CassetteMiss
from agentworld_sim.ports import Answer, TurnContext
from agentworld_sim.redaction.records import Redaction
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.refs import hashed
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Turn

__all__ = ["CassetteMiss", "ReplayEngine"]

TURN_US = 100_000
"""What every turn takes on the world's clock."""

SHOWN_DIFFERENCES = 5


class ReplayEngine:
    """Implements `Engine`: the k-th call with the same arguments gets the k-th recorded answer.

    The order of calls with different arguments does not matter. What was recorded less often than it
    is called is a `CassetteMiss`, never a guess.
    """

    name = "replay"
    route: Literal["compute"] = "compute"

    def __init__(self, cassette: Cassette, *, volatile: tuple[str, ...] = ()) -> None:
        """
        Args:
            cassette: What is replayed.
            volatile: Fields whose values differ each time, beside those of the cassette.
        """
        self._tape = _Tape(cassette, (*cassette.volatile, *volatile))

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        own = f"{self.name}/{tool.name}"
        if tool.binds_to not in (None, own):
            return None
        return replace(tool, domain=tool.domain or "mcp", binds_to=own)

    def refusal(self, tool: ToolSpec) -> str:
        return f"A cassette is replayed, and {tool.binds_to!r} is not in it."

    async def open(self, state: WorldState, blobs: Blobs) -> _ReplaySession:
        return _ReplaySession(self._tape)


class _Tape:
    def __init__(self, cassette: Cassette, volatile: tuple[str, ...]) -> None:
        self._volatile = volatile
        self._by_tool: dict[str, list[tuple[ToolCall, Turn]]] = {}
        for turn in cassette.trajectory:
            self._by_tool.setdefault(turn.call.name, []).append((self._kept(turn.call), turn))

    def find(self, call: ToolCall) -> tuple[str, list[Turn]]:
        """The turns that recorded a call, and a name of what they have in common.

        Raises:
            CassetteMiss: there are none.
        """
        given = self._kept(call)
        recorded = self._by_tool.get(call.name, [])
        for one, _ in recorded:
            if same(one.arguments, given.arguments):
                found = [turn for other, turn in recorded if other == one]
                return hashed("replay", [one.name, one.arguments]), found
        raise CassetteMiss(self._why(given, [one for one, _ in recorded]))

    def _kept(self, call: ToolCall) -> ToolCall:
        arguments = without_volatile(call.name, call.arguments, self._volatile)
        assert isinstance(arguments, dict) or arguments is call.arguments
        return ToolCall(call.name, arguments)  # pyright: ignore[reportArgumentType]

    def _why(self, call: ToolCall, recorded: list[ToolCall]) -> str:
        next_step = (
            " Record again with --record, or name fields that differ each time with --volatile."
        )
        nearest = nearest_call(call, recorded)
        if nearest is None:
            known = ", ".join(sorted(self._by_tool)) or "none"
            return f"no call of {call.name!r} was recorded. Recorded were calls of: {known}.{next_step}"
        # What the caller gave is quoted in a message: without secrets.
        quoted = Redaction().value(call.arguments)
        found = list(differences(nearest.arguments, quoted)) or ["what was redacted"]
        shown = "; ".join(found[:SHOWN_DIFFERENCES])
        more = f"; and {len(found) - SHOWN_DIFFERENCES} more" * (len(found) > SHOWN_DIFFERENCES)
        return (
            f"this call of {call.name!r} was not recorded. The nearest of {len(recorded)} that were"
            f" differs in {shown}{more}.{next_step}"
        )


class _ReplaySession:
    def __init__(self, tape: _Tape) -> None:
        self._tape = tape

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        name, turns = self._tape.find(call)
        key = f"replay/{name}"
        # How often it was called is part of the world: a fork goes on from there.
        heard: int = context.state.values.get(key, 0)
        if heard >= len(turns):
            times = "once" if len(turns) == 1 else f"{len(turns)} times"
            raise CassetteMiss(
                f"{call.name!r} was recorded {times} with these arguments, and is now called"
                f" {heard + 1} times. Record again with --record."
            )
        change = StateChange(clock_us=context.state.clock_us + TURN_US, values={key: heard + 1})
        return Answer(replace(turns[heard].observation, provenance="replayed"), change)

    def close(self) -> None:
        pass
