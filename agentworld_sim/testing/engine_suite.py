"""What holds for every engine.

```python
await check_engine(MyEngine(), MY_TOOL, [ToolCall("my_tool", {"a": 1}), ToolCall("my_tool", {"a": 2})])
```
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast, get_args

from agentworld_sim.assembly import initial_state
from agentworld_sim.domains import domain
from agentworld_sim.ports import Answer, Engine, EngineSession, StepContext
from agentworld_sim.ports.stores import NewBlobs
from agentworld_sim.runtime.access import Router
from agentworld_sim.scenario import empty_scenario
from agentworld_sim.types.files import MemoryBlobs
from agentworld_sim.types.json import canonical_json
from agentworld_sim.types.refs import WorldRef, hash_ref, turn_seed
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, Observation, Turn

if TYPE_CHECKING:
    from agentworld_sim.scenario import Scenario

BYSTANDER = "conformance-suite/bystander"
"""A value in the state that is none of the engine's."""

HOUR_US = 3_600_000_000


async def check_engine(
    engine: Engine,
    tools: ToolSpec | Sequence[ToolSpec],
    calls: Sequence[ToolCall],
    *,
    scenario: Scenario | None = None,
) -> None:
    """Raises `AssertionError`, naming the rule, when an engine breaks one.

    Args:
        tools: Tools that it answers, as an agent offers them.
        calls: Calls of them, one after another; better some that change the state and some that show it.
        scenario: What the world holds at the beginning; an empty machine by default.

    Raises:
        AssertionError: the engine breaks a rule.
        WorldFailure: the engine gave no answer.
    """
    offered = [tools] if isinstance(tools, ToolSpec) else list(tools)
    suite = _Suite(engine, _bind_tools(engine, offered), calls, scenario or empty_scenario())
    suite.check_refusals(offered[0])
    await suite.check_answers()
    await suite.check_reopening()
    await suite.check_side_by_side()
    await suite.check_later_clock()
    await suite.check_cancelling()


def _require(engine: Engine, holds: bool, rule: str, seen: object = "") -> None:
    if not holds:
        detail = f" Seen: {seen}" if seen != "" else ""
        raise AssertionError(f"the engine {engine.name!r} breaks a rule: {rule}.{detail}")


def _bind_tools(engine: Engine, offered: Sequence[ToolSpec]) -> dict[str, ToolSpec]:
    """The tools as bound, by name."""
    _require(engine, engine.route in ("compute", "imagine"), "`route` is 'compute' or 'imagine'")
    before = copy.deepcopy(offered)
    router = Router([engine])

    def bind(tools: Sequence[ToolSpec]) -> list[ToolSpec]:
        return [tool for tool, _ in router.bind_all([(tool, None) for tool in tools])]

    bound = bind(offered)
    rule = "`bind` is pure: it gives the same for the same tool, and changes nothing"
    _require(engine, bind(offered) == bound and list(offered) == before, rule)
    for tool, given in zip(bound, offered, strict=True):
        rule = f"`bind` takes the tools that the engine answers, here {tool.name!r}"
        _require(engine, tool.access == "simulate", rule, engine.refusal(given))
        rule = "`bind` fills in `domain` and `binds_to`"
        _require(engine, tool.domain in get_args(DomainName) and tool.binds_to is not None, rule)
        kept = replace(tool, domain=given.domain, binds_to=given.binds_to)
        _require(engine, kept == given, "`bind` changes nothing else of a tool", kept)
    _require(engine, bind(bound) == bound, "a bound tool is bound to the same again", bind(bound))
    return {tool.name: tool for tool in bound}


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of the history."""

    state: WorldState
    ref: WorldRef
    turns: tuple[Turn, ...] = ()


@dataclass(slots=True)
class _Suite:
    engine: Engine
    tools: Mapping[str, ToolSpec]
    calls: Sequence[ToolCall]
    scenario: Scenario
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    points: list[_Point] = field(default_factory=list[_Point])
    """Where each call is made, and where the last one leads."""
    answers: list[Answer] = field(default_factory=list[Answer])
    """What one session said to all calls."""

    def require(self, holds: bool, rule: str, seen: object = "") -> None:
        _require(self.engine, holds, rule, seen)

    def check_refusals(self, known: ToolSpec) -> None:
        """Tools that it does not answer."""
        other = replace(known, domain=None, binds_to="no-such-toolkit/none")
        self.require(
            self.engine.bind(other) is None, "a tool that says it is something else is not bound"
        )
        why = cast("object", self.engine.refusal(other))
        rule = "`refusal` says in a sentence why a tool is not bound, or nothing"
        self.require(isinstance(why, str) and (not why or why.rstrip()[-1] in ".?!"), rule, why)

    async def check_answers(self) -> None:
        """One session, call after call, and what its answers are made of."""
        blobs = NewBlobs(self.blobs)
        state = initial_state(self.scenario, blobs)
        self._store(blobs)
        state = replace(state, values={**state.values, BYSTANDER: 1})
        self.points = [_Point(state, hash_ref("root", {"suite": 1}))]
        session = await self.engine.open(state, self.blobs)
        for call in self.calls:
            here = self.points[-1]
            before = canonical_json(here.state.to_json())
            answer = await self._answer(session, here, call)
            rule = "nothing is written to the state that is given; an answer says what changes"
            self.require(canonical_json(here.state.to_json()) == before, rule)
            self._check_answer(answer, here)
            self.answers.append(answer)
            self.points.append(self._after(here, call, answer))
        self._check_closing(session)

    async def check_reopening(self) -> None:
        """A session that is opened anywhere says what one says that came there."""
        for here, call, live in zip(self.points, self.calls, self.answers, strict=False):
            session = await self.engine.open(here.state, self.blobs)
            answer = await self._answer(session, here, call)
            self._same(
                answer,
                live,
                f"a session opened at a state answers as one that came there, here {call}; so the change"
                " holds all that the session knows, and chance comes from the turn's seed",
            )
            self._check_closing(session)

    async def check_side_by_side(self) -> None:
        """One engine serves several worlds."""
        begin = self.points[0]
        one, other = [await self.engine.open(begin.state, self.blobs) for _ in range(2)]
        for here, call, live in zip(self.points, self.calls, self.answers, strict=False):
            for session in (one, other):
                answer = await self._answer(session, here, call)
                self._same(answer, live, f"sessions do not share what they know, here {call}")
        self._check_closing(one)
        self._check_closing(other)

    async def check_later_clock(self) -> None:
        """Another engine answered in between, and time went by."""
        session = await self.engine.open(self.points[0].state, self.blobs)
        await self._answer(session, self.points[0], self.calls[0])
        here, call = self.points[1], self.calls[-1]
        later = replace(here.state, clock_us=here.state.clock_us + HOUR_US)
        here = replace(here, state=later)
        fresh = await self.engine.open(later, self.blobs)
        answer, expected = [await self._answer(one, here, call) for one in (session, fresh)]
        self._same(answer, expected, "the clock to go by is the context's, not the session's")
        self._check_closing(session)
        self._check_closing(fresh)

    async def check_cancelling(self) -> None:
        """A call that is cancelled leaves no trace, and closing waits for nothing."""
        here, call, live = self.points[0], self.calls[0], self.answers[0]
        before = canonical_json(here.state.to_json())
        session = await self.engine.open(here.state, self.blobs)
        running = asyncio.ensure_future(self._answer(session, here, call, keep=False))
        await asyncio.sleep(0)
        running.cancel()
        self._check_closing(session)
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        rule = "a cancelled call raises `CancelledError`, or had its answer already"
        self.require(isinstance(ended, Answer | asyncio.CancelledError), rule, repr(ended))
        rule = "a cancelled call leaves no trace"
        self.require(canonical_json(here.state.to_json()) == before, rule)
        session = await self.engine.open(here.state, self.blobs)
        self._same(await self._answer(session, here, call), live, rule)
        self._check_closing(session)

    async def _answer(
        self, session: EngineSession, here: _Point, call: ToolCall, *, keep: bool = True
    ) -> Answer:
        async def history() -> tuple[Turn, ...]:
            return here.turns

        async def failures() -> tuple[()]:
            return ()

        async def state_at(ref: WorldRef) -> WorldState:
            return next(one.state for one in self.points if one.ref == ref)

        blobs = NewBlobs(self.blobs)
        context = StepContext(
            call=call,
            tool=self.tools[call.name],
            state=here.state,
            seed=turn_seed(here.state.seed, here.ref),
            blobs=blobs,
            history=history,
            failures=failures,
            state_at=state_at,
            tools=self.tools,
        )
        answer = await session.answer(context)
        if keep:
            self._store(blobs)
        return answer

    def _check_answer(self, answer: object, here: _Point) -> None:
        rule = "an answer is an `Answer` with an `Observation` and a `StateChange`"
        parts = (answer.observation, answer.change) if isinstance(answer, Answer) else (None, None)
        kinds = isinstance(parts[0], Observation) and isinstance(parts[1], StateChange)
        self.require(kinds, rule, repr(answer))
        assert isinstance(answer, Answer)
        change = answer.change
        rule = "the clock never goes back"
        self.require(change.clock_us >= here.state.clock_us, rule, change.clock_us)
        try:
            read = StateChange.from_json(json.loads(json.dumps(change.to_json())))
            json.dumps(answer.observation.to_json())
        except (TypeError, ValueError) as error:
            read = error
        rule = "observation and change are JSON, and the same when they are read again"
        self.require(read == change, rule, read)
        rule = "the values of others are left alone"
        self.require(BYSTANDER not in change.values, rule, change.values)
        for blob in sorted(change.blobs()):
            try:
                self.blobs.get(blob)
            except KeyError:
                self.require(False, "contents are put into the context's blobs", blob)

    def _check_closing(self, session: EngineSession) -> None:
        for _ in range(2):
            given: object = session.close()
            if inspect.iscoroutine(given):
                given.close()
            rule = "`close` is a plain function that may be called twice and waits for nothing"
            self.require(not inspect.isawaitable(given), rule)

    def _same(self, answer: Answer, other: Answer, rule: str) -> None:
        pairs = [
            (answer.observation, other.observation),
            (answer.change, other.change),
            (answer.inner, other.inner),
        ]
        differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
        self.require(
            differing is None, rule, differing and f"{differing[0]!r} instead of {differing[1]!r}"
        )

    def _after(self, here: _Point, call: ToolCall, answer: Answer) -> _Point:
        tool = self.tools[call.name]
        action = domain(tool.domain).action(call, tool) if tool.domain else Action("")
        turn = Turn(
            parent=here.ref,
            call=call,
            action=action,
            observation=answer.observation,
            change=answer.change,
            inner=answer.inner,
            exchanges=answer.exchanges,
        )
        return _Point(here.state.after(answer.change), turn.ref, (*here.turns, turn))

    def _store(self, blobs: NewBlobs) -> None:
        for data in blobs.new.values():
            self.blobs.put(data)
