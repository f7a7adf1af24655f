"""How one call gets its answer: through the controls to an engine, whose answer checks may refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, cast

from agentworld_sim.checks import Check, CheckInput, judge_all, require_accepted
from agentworld_sim.controls import Control, control_values, failure_of
from agentworld_sim.controls.control_list import (
    OBEDIENCE,
    ControlList,
    control_failure,
    obedient_observation,
    offered_tools,
)
from agentworld_sim.domains import domain
from agentworld_sim.errors import AgentworldError, ObservationRejected, UnknownToolError
from agentworld_sim.ports import (
    Answer,
    Engine,
    EngineSession,
    StepContext,
)
from agentworld_sim.schema.validate import check_arguments
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, CheckVerdict, Observation, Turn


class Pipeline:
    """One step: the controls in order, and an engine behind them. For one use."""

    def __init__(
        self,
        context: StepContext,
        *,
        open_live: Callable[[Engine], Awaitable[EngineSession]],
        bound: Callable[[str], tuple[ToolSpec, Engine]],
        checks: Sequence[Check],
        controls: ControlList,
    ) -> None:
        """
        Args:
            context: What is to be answered; its tool is looked up here.
            open_live: Gives the live session of an engine on the context's state.
            bound: The tool of a name as bound, and its engine; raises if it may not be answered.
            checks: Rules that an engine's answer must pass.

        Raises:
            UnknownToolError: there is no such tool.
            AccessRefused: the tool may not be answered.
            ArgumentsError: the arguments do not fit its schema.
            ControlFailure: a control raised.
        """
        call, self._listing = context.call, context.tools
        self._controls = controls.at(context.state)
        if self._controls:
            self._listing = offered_tools(self._controls, context.tools, context.state)
        # What is not offered may still be called: a control says what becomes of it.
        tool = self._listing.get(call.name)
        self._own: tuple[ToolSpec, Engine] | None = None
        if tool is None or call.name in context.tools:
            self._own = bound(call.name)
        tool = tool or bound(call.name)[0]
        check_arguments(tool, call.arguments)
        if context.on_delta and not all(control.allows_streaming for control in self._controls):
            # What a control changes afterwards shall not be read before.
            context = replace(context, on_delta=None)
        self._step = replace(context, tool=tool, instruction=controls.instruction_at(context.state))
        self.engine = self._own[1].name if self._own else ""
        """Name of the engine that the tool is bound to; empty for a tool that only a control knows."""
        self.altered = False
        """Whether the change is not what the engine's live session did, which is then of no more use."""
        self._open_live = open_live
        self._bound = bound
        self._checks = checks
        self._verdicts: tuple[CheckVerdict, ...] = ()
        self._exchanges: tuple[Exchange, ...] = ()
        self._passed_on: list[BaseException] = []
        self._live: StateChange | None = None
        self._used = False

    async def run(self, parent: WorldRef) -> Turn:
        """The turn after `parent`.

        Raises:
            WorldFailure: no acceptable answer.
        """
        try:
            answer = await self._answer(0, self._step)
        except AgentworldError as error:
            error.exchanges = self._exchanges
            raise
        self.altered = answer.change is not self._live and self._session_differs(answer.change)
        call, tool = self._step.call, self._step.tool
        return Turn(
            parent=parent,
            call=call,
            action=domain(tool.domain).action(call, tool) if tool.domain else Action(""),
            observation=answer.observation,
            change=answer.change,
            inner=answer.inner,
            checks=self._verdicts,
            # Also of an answer that a control did not use: it was paid for as well.
            exchanges=self._exchanges,
        )

    async def _answer(self, number: int, step: StepContext) -> Answer:
        """The answer of the control of this number, or of the engine behind the last."""
        while number < len(self._controls) and not self._concerns(number, step.tool):
            number += 1
        if number == len(self._controls):
            return await self._from_engine(step)
        control = self._controls[number]
        given: list[Observation] = []
        failed: list[BaseException] = []

        async def next(inner: StepContext) -> Answer:
            try:
                if inner.call is not step.call:
                    self._require_possible(control, inner.call)
                answer = await self._answer(number + 1, inner)
            except BaseException as error:
                self._passed_on.append(error)
                failed.append(error)
                raise
            given.append(answer.observation)
            return answer

        try:
            answer = cast("object", await control.handle(step.for_control(control), next))
        except Exception as error:
            if any(error is one for one in self._passed_on):
                raise
            raise control_failure(control, error) from error
        if not isinstance(answer, Answer):
            raise control_failure(control, TypeError(f"it gave {answer!r}, which is no Answer"))
        if any(answer.observation is one for one in given):
            return answer
        if failed and not given:
            # A cancellation, or a model that did not answer, is no observation, whatever a control makes
            # of it. What it gets from another try is.
            raise failed[-1]
        return replace(answer, observation=replace(answer.observation, provenance="enforced"))

    def _concerns(self, number: int, tool: ToolSpec) -> bool:
        control = self._controls[number]
        try:
            return control.concerns(tool)
        except Exception as error:
            raise control_failure(control, error) from error

    def _require_possible(self, control: Control, call: ToolCall) -> None:
        try:
            check_arguments(self._bound(call.name)[0], call.arguments)
        except AgentworldError as error:
            raise control_failure(control, error) from error

    def _require_fitting(self, tool: ToolSpec, call: ToolCall) -> None:
        """What fits the tool as it is offered may not fit it as it is bound."""
        try:
            check_arguments(tool, call.arguments)
        except AgentworldError as error:
            lists = [one for one in self._controls if type(one).tools is not Control.tools]
            raise control_failure(lists[-1], error) from error

    async def _from_engine(self, step: StepContext) -> Answer:
        asked = step.call is self._step.call
        tool, engine = (asked and self._own) or self._bound(step.call.name)
        if asked and tool.name not in self._listing:
            raise UnknownToolError(
                f"this world has no tool {tool.name!r} now: a control took it away, and none answered."
            )
        if asked and self._listing[tool.name] is not tool:
            self._require_fitting(tool, step.call)
        if tool is not step.tool:
            step = replace(step, tool=tool)
        begun = self._step.state
        # A session knows of files and sessions; the rest of the state is the context's.
        live = (
            self._own is not None
            and engine is self._own[1]
            and not self._used
            and step.state.files is begun.files
            and step.state.sessions is begun.sessions
        )
        self._used = self._used or live
        session: EngineSession | None = None
        try:
            session = await (
                self._open_live(engine) if live else engine.open(step.state, step.blobs)
            )
            answer, verdicts = await _answer_and_check(
                step, engine, session, self._checks, self._controls
            )
        except AgentworldError as error:
            self._exchanges += error.exchanges
            raise
        finally:
            if session is not None and not live:
                session.close()
        self._exchanges += answer.exchanges
        self._verdicts += verdicts
        if live:
            self._live = answer.change
        if answer.change.files:
            conditions, files = Conditions.of(step.state.values), step.state.files
            refusal = conditions.refusal(answer.change, files)
            if refusal:
                failure = replace(failure_of(step, refusal), provenance="enforced")
                answer = step.without_effect(replace(answer, observation=failure))
            elif conditions.free_bytes is not None:
                answer = answer.with_values(conditions.after(answer.change, files).to_values())
        return answer

    def _session_differs(self, change: StateChange) -> bool:
        """Whether the engine's live session is elsewhere than after `change`."""
        live = self._live
        if live is None and self._used:
            # It failed, and a control went on without it.
            return True
        if live is None:
            # It did not answer.
            live = StateChange(clock_us=change.clock_us)
        # That it is later, it learns with the next call.
        return (
            change.clock_us < live.clock_us
            or (change.files, change.sessions, change.seed)
            != (live.files, live.sessions, live.seed)
            or _without_controls(change) != _without_controls(live)
        )


def _without_controls(change: StateChange) -> dict[str, Any]:
    own = control_values(change.values)
    return {key: value for key, value in change.values.items() if key not in own}


async def _answer_and_check(
    step: StepContext,
    engine: Engine,
    session: EngineSession,
    checks: Sequence[Check],
    controls: Sequence[Control],
) -> tuple[Answer, tuple[CheckVerdict, ...]]:
    """The answer that every check accepts, as it obeys the controls, and all verdicts on the way to it."""
    verdicts: list[CheckVerdict] = []
    accepted: list[Observation] = []
    attempt = 0

    async def judge(call: ToolCall, tool: ToolSpec, answer: Answer, *, whole: bool = True) -> None:
        nonlocal attempt
        attempt += 1
        if whole:
            own = domain(tool.domain).checks if tool.domain else ()
            rules, history = (*checks, *own), await step.history()
        else:
            # What an engine computed around imagined parts agrees with the state; the parts were judged
            # when they were given.
            rules, history = tuple(check for check in checks if check.scope == "all"), ()
        after = step.state.after(answer.change)
        judged = CheckInput(call, tool, answer.observation, step.state, after, step.blobs, history)
        found = judge_all(rules, judged, attempt=attempt)
        verdicts.extend(found)
        require_accepted(found, call)
        accepted.append(answer.observation)

    async def judge_imagined(call: ToolCall, tool: ToolSpec, answer: Answer) -> None:
        await judge(call, tool, answer)
        observation, reason = await obedient_observation(controls, step, answer.observation)
        if controls:
            verdicts.append(CheckVerdict(OBEDIENCE, not reason, reason, attempt))
        if reason:
            raise _disobedience(observation, reason)

    answer = await session.answer(replace(step, judge=judge_imagined))
    if answer.observation not in accepted[-1:]:
        try:
            await judge(step.call, step.tool, answer, whole=engine.route == "imagine")
        except ObservationRejected as rejected:
            rejected.exchanges = _with_problem(answer.exchanges, rejected.reasons)
            raise
    if controls and (answer.observation.provenance in ("imagined", "replayed") or answer.inner):
        observation, reason = await obedient_observation(controls, step, answer.observation)
        if reason and not (rejected := _disobedience(observation, reason)).rewritable:
            rejected.exchanges = answer.exchanges
            raise rejected
        if reason:
            verdicts.append(CheckVerdict(OBEDIENCE, True, f"rewritten: {reason}", attempt))
            answer = replace(answer, observation=replace(observation, provenance="enforced"))
    return answer, tuple(verdicts)


def _disobedience(obedient: Observation, reason: str) -> ObservationRejected:
    """Why an imagined answer is refused; `obedient` is what a rule would leave of it."""
    left = bool(obedient.text.strip()) or obedient.structured is not None
    what = "the answer breaks a control" if left else "nothing of the answer would be left"
    rejected = ObservationRejected(f"{what}: {reason} The world is unchanged.")
    rejected.reasons, rejected.rewritable = (reason,), left
    return rejected


def _with_problem(exchanges: tuple[Exchange, ...], reasons: Sequence[str]) -> tuple[Exchange, ...]:
    """The same, the last one marked with why its reply was not used."""
    if not exchanges:
        return ()
    return (*exchanges[:-1], replace(exchanges[-1], problem="; ".join(reasons)))
