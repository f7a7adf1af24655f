"""An engine that answers from recorded calls of real tools, through a world: with history, forks and refs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agentworld_sim.cassette._keys import Keys
from agentworld_sim.cassette._recorded_answers import Answers, CassetteMiss, Key, miss, short_digest
from agentworld_sim.cassette.file import Cassette
from agentworld_sim.ports import Answer, StepContext
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

__all__ = ["CassetteMiss", "ReplayEngine"]

TURN_US = 100_000
"""What every turn takes on the world's clock."""

NEXT_STEP = "record again with --record, or name fields that differ each time with --volatile"


class ReplayEngine:
    """Implements `Engine` and `EngineSession`: the k-th call with the same arguments gets the k-th recorded
    answer.

    The order of calls with different arguments does not matter. What was recorded less often than it
    is called is a `CassetteMiss`, never a guess.
    """

    name = "replay"
    route: Literal["compute"] = "compute"

    def __init__(
        self,
        cassette: Cassette,
        *,
        volatile: tuple[str, ...] = (),
        path: Path = Path("the cassette"),
    ) -> None:
        """
        Args:
            volatile: Fields whose values differ each time, beside those of the cassette.
            path: Where it lies, for messages.
        """
        self._path = path
        self._keys = Keys((), (*cassette.volatile, *volatile))
        self._answers = Answers()
        seen: Counter[str] = Counter()
        for one in cassette.entries:
            if one.key.kind == "real":
                about = self._keys.arguments(ToolCall(one.key.name, one.key.about))
                # Calls that differ in volatile fields alone are equal.
                equal = canonical_json([one.key.name, about])
                key = Key("real", one.key.name, about, seen[equal])
                seen[equal] += 1
                self._answers.put(replace(one, key=key))

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        own = f"{self.name}/{tool.name}"
        if tool.binds_to not in (None, own):
            return None
        return replace(tool, domain=tool.domain or "mcp", binds_to=own)

    def refusal(self, tool: ToolSpec) -> str:
        return f"A cassette is replayed, and {tool.binds_to!r} is not in it."

    async def open(self, state: WorldState, blobs: Blobs) -> ReplayEngine:
        return self

    async def answer(self, context: StepContext) -> Answer:
        call = context.call
        key = Key("real", call.name, self._keys.arguments(call))
        first = self._answers.find(key)
        # How often it was called is part of the world: a fork goes on from there. What was redacted in
        # the recording makes calls equal.
        counter = f"replay/{short_digest([call.name, (first.key if first else key).about])}"
        heard: int = context.state.values.get(counter, 0)
        key = replace(key, occurrence=heard)
        found = self._answers.find(key)
        if found is None:
            raise miss(self._path, key, self._answers, f"to have it, {NEXT_STEP}")
        change = StateChange(clock_us=context.state.clock_us + TURN_US, values={counter: heard + 1})
        return Answer(Observation.from_json({**found.answer, "provenance": "replayed"}), change)

    def close(self) -> None:
        pass
