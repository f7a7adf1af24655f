"""How one call gets its answer: controls before, an engine, checks that may ask again, controls after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentworld_sim.checks import Check, CheckInput, judge_all, refusals, require_accepted
from agentworld_sim.controls import Control, ControlInput, Enforced, Fault
from agentworld_sim.domains import domain
from agentworld_sim.errors import AgentworldError, ObservationRejected
from agentworld_sim.ports import (
    Answer,
    Engine,
    EngineSession,
    OnDelta,
    RefusedAnswer,
    TurnContext,
)
from agentworld_sim.store.base import Origin
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import CheckVerdict, Observation


@dataclass(frozen=True, slots=True)
class Asked:
    """What a step is asked to do."""

    call: ToolCall
    tool: ToolSpec
    engine: Engine
    origin: Origin | None = None
    on_delta: OnDelta | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """What goes into a turn."""

    answer: Answer
    verdicts: tuple[CheckVerdict, ...] = ()
    delayed: bool = False
    """A control let time pass that the engine's session does not know of."""


async def answered(
    given: ControlInput,
    engine: Engine,
    open_session: Callable[[], Awaitable[EngineSession]],
    context: TurnContext,
    *,
    checks: Sequence[Check],
    controls: Sequence[Control],
) -> Answered:
    """Answers the call of `given`.

    Raises:
        WorldFailure: no acceptable answer.
    """
    if context.on_delta and any(not isinstance(control, Fault) for control in controls):
        # What a control changes afterwards shall not be read before.
        context = replace(context, on_delta=None)
    delay_us = sum(control.delay_us(given) for control in controls)
    enforced = _enforced(given, controls)
    if enforced.observation is not None:
        change = StateChange(clock_us=given.state.clock_us + delay_us, values=enforced.values)
        return Answered(Answer(replace(enforced.observation, provenance="enforced"), change))
    answer, verdicts = await _accepted(given, engine, await open_session(), context, checks)
    observation = answer.observation
    for control in controls:
        changed = control.after(given, observation)
        if changed is not observation:
            observation = replace(changed, provenance="enforced")
    if observation is not answer.observation:
        answer = replace(answer, observation=observation)
    if delay_us or enforced.values:
        change = replace(
            answer.change,
            clock_us=answer.change.clock_us + delay_us,
            values={**answer.change.values, **enforced.values},
        )
        answer = replace(answer, change=change)
    return Answered(answer, verdicts, delayed=bool(delay_us))


def _enforced(given: ControlInput, controls: Sequence[Control]) -> Enforced:
    """What the controls do before an engine is asked, up to the first that answers."""
    values: dict[str, Any] = {}
    for control in controls:
        done = control.before(given)
        if isinstance(done, Observation):
            done = Enforced(observation=done)
        if done is None:
            continue
        values.update(done.values)
        if done.observation is not None:
            return Enforced(observation=done.observation, values=values)
    return Enforced(values=values)


async def _accepted(
    given: ControlInput,
    engine: Engine,
    session: EngineSession,
    context: TurnContext,
    checks: Sequence[Check],
) -> tuple[Answer, tuple[CheckVerdict, ...]]:
    """The first answer that every check accepts, and all verdicts on the way to it."""
    exchanges: tuple[Exchange, ...] = ()
    verdicts: tuple[CheckVerdict, ...] = ()
    judged: tuple[CheckVerdict, ...] = ()
    for attempt in range(1, engine.reasks + 2):
        try:
            answer = await session.answer(given.call, given.tool, context)
        except AgentworldError as failure:
            failure.exchanges = exchanges + failure.exchanges
            raise
        judged = await _judged(given, engine, answer, context, checks, attempt)
        verdicts += judged
        reasons = refusals(judged)
        if not reasons:
            if exchanges:
                answer = replace(answer, exchanges=exchanges + answer.exchanges)
            return answer, verdicts
        exchanges += _with_problem(answer.exchanges, reasons)
        if not _imagined(engine, answer):
            # Computed again, it would be the same.
            break
        refused = RefusedAnswer(answer.observation, reasons)
        context = replace(context, refused=(*context.refused, refused))
    try:
        require_accepted(judged, given.call)
    except ObservationRejected as rejected:
        rejected.exchanges = exchanges
        raise
    raise AssertionError("a refused answer was accepted")


async def _judged(
    given: ControlInput,
    engine: Engine,
    answer: Answer,
    context: TurnContext,
    checks: Sequence[Check],
    attempt: int,
) -> tuple[CheckVerdict, ...]:
    # What an engine computed around imagined parts agrees with the state; the parts were judged when
    # they were given.
    imagined = _imagined(engine, answer)
    if not imagined:
        checks = [check for check in checks if check.scope == "all"]
    if imagined and given.tool.domain is not None:
        checks = (*checks, *domain(given.tool.domain).checks)
    history = await context.history() if imagined else ()
    after = given.state.after(answer.change)
    judged = CheckInput(
        given.call, given.tool, answer.observation, given.state, after, context.blobs, history
    )
    return judge_all(checks, judged, attempt=attempt)


def _imagined(engine: Engine, answer: Answer) -> bool:
    """Whether the answer as a whole was imagined: by an engine that imagines, or for one that computes
    and could not answer this call."""
    return engine.route == "imagine" or answer.handed_on


def _with_problem(exchanges: tuple[Exchange, ...], reasons: Sequence[str]) -> tuple[Exchange, ...]:
    """The same, the last one marked with why its reply was not used."""
    if not exchanges:
        return ()
    return (*exchanges[:-1], replace(exchanges[-1], problem="; ".join(reasons)))
