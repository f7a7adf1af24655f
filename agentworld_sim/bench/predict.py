"""Has a world answer recorded calls: each in the state, and after the calls, that it was recorded in."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from agentworld_sim.bench.labels import labels_of
from agentworld_sim.bench.scores import ChanceMatcher, Score, score
from agentworld_sim.bench.transitions import (
    Changes,
    RecordedSession,
    Side,
    Tables,
    Transition,
    changes_between,
)
from agentworld_sim.engines.model import ModelEngine
from agentworld_sim.engines.table import TableEngine
from agentworld_sim.engines.table.table_changes import current_records, records_view
from agentworld_sim.errors import ArgumentsError, ModelUnavailable, WorldFailure
from agentworld_sim.imagination.confidence import Signals
from agentworld_sim.imagination.usage import WorldUsage, usage_of
from agentworld_sim.ports import Answer, Control, Imaginer, Next, StepContext
from agentworld_sim.scenario import Scenario
from agentworld_sim.store import MemoryStore
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.files import Blobs, FileTree
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import EMPTY_SCHEMA, ToolCall, ToolSpec
from agentworld_sim.world import World

TURN_US = 1_000_000

EXAMPLE_CHARACTERS = 1_000
"""Of the records that are told with an example."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a world said to one recorded call, and how right that is: a line of a run."""

    id: str
    session: str
    tool: str
    side: Side
    score: Score
    text: str = ""
    is_error: bool = False
    changes: Changes = field(default_factory=dict[str, Any])
    refused: str = ""
    """Why there is no answer, where the world refused to give one."""
    confidence: float | None = None
    signals: Mapping[str, Any] | None = None
    """What is known of the answer without the truth; `None` where nobody was asked."""
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    replies: Sequence[Mapping[str, Any]] = ()
    """What the model said to the letter, the replies that were not used too."""
    labels: Sequence[str] = ()
    """What is special about the call; see `labels_of`."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Row:
        fields: dict[str, Any] = {**value, "score": Score(**value["score"])}
        return cls(**fields)


class SessionPlayer:
    """A recorded session as a world, in which any of its calls can be asked again."""

    def __init__(
        self,
        session: RecordedSession,
        world: World,
        records: RecordedTables,
        refs: Sequence[WorldRef],
    ) -> None:
        self._session = session
        self._world = world
        self._records = records
        self._refs = refs

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        session: RecordedSession,
        imaginer: Imaginer,
        *,
        with_records: bool = True,
        seed: int = 0,
    ) -> AsyncGenerator[SessionPlayer]:
        """Plays the whole session with its recorded answers.

        Args:
            session: What was recorded.
            imaginer: Answers the calls that are asked again.
            with_records: Whether it is shown the records that matter, and may change them.
            seed: Of the world.
        """
        scenario = _scenario(session.keys, session.initial)
        records = RecordedTables.of(scenario)
        engine = RecordedEngine(session, records)
        store = MemoryStore()
        async with await World.create(
            scenario, store=store, seed=seed, engines=[engine], model=False, checks=()
        ) as recorded:
            # Some environments answered calls that their own schemas do not allow.
            recorded.add_tools(replace(tool, input_schema=EMPTY_SCHEMA) for tool in session.tools)
            refs = [recorded.ref]
            for one in session.calls:
                await recorded.step(one.call)
                refs.append(recorded.ref)
        asked = ModelEngine(imaginer, records if with_records else None)
        controls = [TellInstruction(session.instruction)] if session.instruction else []
        async with await World.open(
            recorded.id, store=store, engines=[asked], model=False, controls=controls
        ) as world:
            world.add_tools(session.tools)
            yield cls(session, world, records, refs)

    async def predict_each(self, transitions: Iterable[Transition]) -> AsyncGenerator[Row]:
        """What the world says to some calls, each after the recorded ones.

        Args:
            transitions: Of this session.

        Raises:
            ModelUnavailable: the model's server is down: that is no answer.
        """
        for transition in transitions:
            at = self._refs[transition.place]
            row, _ = await self._ask(transition, transition.truth.call, at)
            yield row

    async def predict_all(self) -> AsyncGenerator[Row]:
        """What the world says to every call of the session, each after what it said to those before.

        What the environment drew at random is called in later calls as the world has called it. A state is right
        if the whole of it is the environment's.

        Raises:
            ModelUnavailable: the model's server is down.
        """
        drawn = frozenset(one for call in self._session.calls for one in call.by_chance)
        matcher, at = ChanceMatcher(drawn), self._refs[0]
        for transition in self._session.transitions():
            call = transition.truth.call
            call = ToolCall(call.name, matcher.with_drawn(call.arguments))
            row, at = await self._ask(transition, call, at, matcher)
            yield row

    async def _ask(
        self,
        transition: Transition,
        call: ToolCall,
        at: WorldRef,
        matcher: ChanceMatcher | None = None,
    ) -> tuple[Row, WorldRef]:
        """The row, and where the world stands after it; its changes are those since the recorded state."""
        try:
            turn = await self._world.step(call, at=at)
        except ModelUnavailable:
            raise
        except (WorldFailure, ArgumentsError) as failure:
            # Arguments that the tool's schema forbids are asked of nobody.
            cost = WorldUsage(failed_steps=int(isinstance(failure, WorldFailure)))
            cost.add_exchanges(failure.exchanges)
            # An empty answer may be right, and this is none.
            none = score(transition, "", not transition.truth.observation.is_error, {})
            return _row(transition, none, cost, failure.exchanges, refused=str(failure)), at
        after = self._tables_of(await self._world.state(turn.ref))
        # Records of a state have their fields in no order; lines of a run are the same each time.
        changes = {
            table: {key: json.loads(canonical_json(record)) for key, record in records.items()}
            for table, records in changes_between(transition.before, after).items()
        }
        said = turn.observation
        row = _row(
            transition,
            score(transition, said.text, said.is_error, changes, matcher),
            usage_of([turn]),
            turn.exchanges,
            text=said.text,
            is_error=said.is_error,
            changes=changes,
            confidence=turn.exchanges[-1].confidence if turn.exchanges else None,
            signals=asdict(Signals.of(turn.exchanges)) if turn.exchanges else None,
        )
        return row, turn.ref

    def _tables_of(self, state: WorldState) -> Tables:
        keys = self._session.keys
        plan = self._records.plan(())
        held = {table: current_records(state, plan, plan.tables[table]) for table in keys}
        return {
            table: {str(one.record[keys[table]]): one.record for one in records}
            for table, records in held.items()
        }


class TellInstruction(Control):
    """Tells a model how the environment behaves, and enforces nothing: whether it obeys is what is measured."""

    name = "instruction"

    def __init__(self, text: str) -> None:
        self.text = text

    async def handle(self, step: StepContext, next: Next) -> Answer:
        return await next(step)

    def describe(self) -> str:
        return self.text


class RecordedTables(TableEngine):
    """The records of a recorded state, as they were: nothing is inferred from tools, and nothing is added."""

    @classmethod
    def of(cls, scenario: Scenario) -> RecordedTables:
        return cls(tables={name: spec.to_table(name) for name, spec in scenario.tables.items()})

    def view(
        self, state: WorldState, call: ToolCall, tool: ToolSpec, tools: Mapping[str, ToolSpec]
    ) -> str:
        return super().view(state, call, tool, {})

    def changes(
        self, state: WorldState, tools: Mapping[str, ToolSpec], operations: Sequence[Any]
    ) -> Mapping[str, Any]:
        return super().changes(state, {}, operations)


class RecordedEngine:
    """Implements `Engine`: says again what the environment said, one call after another."""

    name = "recorded"
    route: Literal["compute"] = "compute"

    def __init__(self, session: RecordedSession, records: RecordedTables) -> None:
        self._transitions = list(session.transitions())
        self._records = records

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        return tool

    def refusal(self, tool: ToolSpec) -> str:
        return ""

    async def open(self, state: WorldState, blobs: Blobs) -> RecordedEngine:
        return self

    async def answer(self, context: StepContext) -> Answer:
        transition = self._transitions[len(await context.history())]
        operations = operations_of(transition)
        values = self._records.changes(context.state, context.tools, operations)
        clock_us = context.state.clock_us + TURN_US
        return Answer(transition.truth.observation, StateChange(clock_us=clock_us, values=values))

    def close(self) -> None:
        pass


def operations_of(transition: Transition) -> list[dict[str, Any]]:
    """What the environment changed, as the operations that a model would write."""
    found: list[dict[str, Any]] = []
    for table, records in transition.truth.changes.items():
        field = transition.session.keys[table]
        for key, record in records.items():
            before = transition.before.get(table, {}).get(key)
            if before is not None and (record is None or before.keys() - record.keys()):
                # What is written over a record would leave the fields it does not name.
                found.append({"kind": "delete", "table": table, "key": before[field]})
            if record is not None:
                found.append({"kind": "put", "table": table, "record": record})
    return found


def records_of_example(transition: Transition, tool: ToolSpec) -> str:
    """The records that matter for a recorded call, before it, as the model that is asked is shown its own: those that
    it changed, or else those that are like its arguments; few enough for several of them in a prompt."""
    before, call = transition.before, transition.truth.call
    changed = {
        table: {key: before[table][key] for key in records if key in before.get(table, {})}
        for table, records in transition.truth.changes.items()
    }
    tables = RecordedTables.of(_scenario(transition.session.keys, changed or before))
    state, most = WorldState(files=FileTree({}), clock_us=0, seed=0), EXAMPLE_CHARACTERS
    return records_view(state, tables.plan(()), about=call, tool=tool, max_characters=most)


def _scenario(keys: Mapping[str, str], initial: Tables) -> Scenario:
    tables = {
        name: {"key": [keys[name]], "records": list(records.values())}
        for name, records in initial.items()
    }
    return Scenario.model_validate({"name": "recorded", "domains": ["mcp"], "tables": tables})


def _row(
    transition: Transition,
    score: Score,
    cost: WorldUsage,
    exchanges: Iterable[Exchange],
    **said: Any,
) -> Row:
    written = (exchange.to_json() for exchange in exchanges)
    return Row(
        id=transition.id,
        session=transition.session.task,
        tool=transition.truth.call.name,
        side=transition.side,
        score=score,
        usage=cost.to_json(),
        # Prompts follow from the transition, and are many times as long.
        replies=[
            {name: value for name, value in one.items() if name not in ("messages", "parameters")}
            for one in written
        ],
        labels=labels_of(transition),
        **said,
    )
