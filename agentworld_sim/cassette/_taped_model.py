"""`TapedModel`: a language world model whose answers are recorded, or said again without it.

It stands where the model stands: behind the same bindings, before the same checks, and what it gives is
committed like any answer. While it records, a world is told what is recorded, without secrets: so a
replayed session is the recorded one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from agentworld_sim.cassette._states import StateParts
from agentworld_sim.engines.shell._imagined import (
    CommandAnswer,
    CommandImaginer,
    CommandQuestion,
    ImaginedCommand,
    Validate,
)
from agentworld_sim.imagination.binding import TURN_US, bound, refusal
from agentworld_sim.ports import Answer, Engine, EngineSession, TurnContext
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation

if TYPE_CHECKING:
    from agentworld_sim.cassette._tape import Tape
    from agentworld_sim.imagination import Briefing, WorldImaginer
    from agentworld_sim.imagination._records import Records
    from agentworld_sim.scenario import Scenario
    from agentworld_sim.world import World


class TapedModel:
    """Implements `WorldImaginer`."""

    def __init__(
        self, tape: Tape, inner: WorldImaginer | None, parts: StateParts | None = None
    ) -> None:
        """
        Args:
            tape: What records and replays.
            inner: The model to ask; `None` to replay without one.
            parts: What tells the states of a scenario's worlds apart; see `within`.
        """
        self._tape = tape
        self._inner = inner
        self._parts = parts

    @property
    def name(self) -> str:
        return "" if self._inner is None else self._inner.name

    def within(self, scenario: Scenario) -> TapedModel:
        inner = None if self._inner is None else self._inner.within(scenario)
        return TapedModel(self._tape, inner, StateParts(scenario))

    def engine(self, briefing: Briefing | None = None, records: Records | None = None) -> Engine:
        inner = None if self._inner is None else self._inner.engine(briefing, records)
        return TapedEngine(self._tape, inner, self._of_scenario())

    def imaginer(self, briefing: Briefing | None = None) -> CommandImaginer:
        inner = None if self._inner is None else self._inner.imaginer(briefing)
        return TapedImaginer(self._tape, inner, self._of_scenario())

    def opened(self, world: World) -> None:
        if self._inner is not None:
            self._inner.opened(world)

    async def closed(self, world: World) -> None:
        if self._inner is not None:
            await self._inner.closed(world)

    def _of_scenario(self) -> StateParts:
        if self._parts is None:
            # An engine that somebody put among `engines=` by hand.
            from agentworld_sim.runtime.assembly import empty_scenario

            self._parts = StateParts(empty_scenario())
        return self._parts


class TapedEngine:
    """Implements `Engine` in place of `ModelEngine`."""

    name = "model"
    route: Literal["imagine"] = "imagine"

    def __init__(self, tape: Tape, inner: Engine | None, parts: StateParts) -> None:
        self._tape = tape
        self._inner = inner
        self._parts = parts

    @property
    def reasks(self) -> int:
        # What is recorded stays the same however often it is asked for.
        return self._inner.reasks if self._inner is not None and self._tape.records else 0

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return bound(tool)

    def refusal(self, tool: ToolSpec) -> str:
        return refusal(tool)

    async def open(self, state: WorldState, blobs: Blobs) -> TapedSession:
        inner = None if self._inner is None else await self._inner.open(state, blobs)
        return TapedSession(self._tape, inner, self._parts, self.reasks)


class TapedSession:
    """Implements `EngineSession`."""

    def __init__(
        self, tape: Tape, inner: EngineSession | None, parts: StateParts, reasks: int
    ) -> None:
        self._tape = tape
        self._inner = inner
        self._parts = parts
        self._reasks = reasks

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        history = await context.history()
        asked = self._tape.keys.tool(call, context, history, self._parts)
        asked = replace(asked, last=len(context.refused) >= self._reasks)
        exchanges: tuple[Exchange, ...] = ()

        async def ask(inner: EngineSession) -> Mapping[str, Any]:
            nonlocal exchanges
            answer = await inner.answer(call, tool, context)
            exchanges = answer.exchanges
            return answer_json(answer.observation, answer.change.values)

        given = await self._tape.answer(asked, None if self._inner is None else (ask, self._inner))
        observation, values = read_answer(given.answer)
        provenance = "replayed" if given.replayed else "imagined"
        return Answer(
            replace(observation, provenance=provenance),
            StateChange(clock_us=context.state.clock_us + TURN_US, values=values),
            exchanges=exchanges,
        )

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()


class TapedImaginer:
    """Implements `CommandImaginer` in place of `CommandModel`."""

    def __init__(self, tape: Tape, inner: CommandImaginer | None, parts: StateParts) -> None:
        self._tape = tape
        self._inner = inner
        self._parts = parts

    async def answer(
        self,
        question: CommandQuestion,
        earlier: Sequence[tuple[CommandQuestion, CommandAnswer]],
        context: TurnContext,
        validate: Validate,
    ) -> ImaginedCommand:
        history = await context.history()
        asked = self._tape.keys.command(question, earlier, context, history, self._parts)
        exchanges: tuple[Exchange, ...] = ()

        async def ask(inner: CommandImaginer) -> Mapping[str, Any]:
            nonlocal exchanges
            imagined = await inner.answer(question, earlier, context, validate)
            exchanges = imagined.exchanges
            return _briefly(imagined.answer)

        given = await self._tape.answer(asked, None if self._inner is None else (ask, self._inner))
        answer = CommandAnswer.from_json(
            {"stdout": "", "stderr": "", "exit_code": 0, **given.answer}
        )
        return ImaginedCommand(answer, exchanges, replayed=given.replayed)


def answer_json(observation: Observation, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """An answer as it is recorded."""
    value = observation.to_json()
    del value["provenance"]
    if values:
        value["changes"] = dict(values)
    return value


def read_answer(answer: Mapping[str, Any]) -> tuple[Observation, Mapping[str, Any]]:
    """An observation, and the values that it changes."""
    fields = dict(answer)
    values = fields.pop("changes", {})
    return Observation.from_json(fields), values


def _briefly(answer: CommandAnswer) -> Mapping[str, Any]:
    return {key: value for key, value in answer.to_json().items() if value or key == "stdout"}
