"""What goes through one step of a world (the call with all that may be looked at, and its answer), and who handles it:
controls, engines, checks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, runtime_checkable

from agentworld_sim.types.conditions import PREFIX as CONDITIONS, Conditions
from agentworld_sim.types.exchanges import Exchange, FailedStep
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.refs import WorldRef
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import InnerAnswer, Observation, Turn

OnDelta = Callable[[str], None]
"""Is given a piece of an observation's text while it is being written."""

PREFIX = "control/"
"""What the keys of the values begin with that controls keep in the state."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An engine's answer: what the agent sees and what it did to the state."""

    observation: Observation
    change: StateChange
    inner: tuple[InnerAnswer, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    """What a model was asked for it."""

    def with_values(self, values: Mapping[str, Any]) -> Answer:
        """The same, with more values changed in the state."""
        return self._with(self.change.clock_us, {**self.change.values, **values})

    def with_delay(self, by_us: int) -> Answer:
        """The same, so much later on the world's clock."""
        return self._with(self.change.clock_us + by_us, self.change.values)

    def _with(self, clock_us: int, values: Mapping[str, Any]) -> Answer:
        # Written out, because it is done at every call that a control counts.
        before = self.change
        change = StateChange(
            clock_us=clock_us,
            files=before.files,
            sessions=before.sessions,
            values=values,
            seed=before.seed,
        )
        return Answer(self.observation, change, self.inner, self.exchanges)

    def then(self, later: Answer) -> Answer:
        """`later`, which was given on the state that this one leaves, with the changes of both."""
        return replace(
            later, change=self.change.then(later.change), inner=(*self.inner, *later.inner)
        )


Judge = Callable[[ToolCall, ToolSpec, Answer], Awaitable[None]]
"""Puts an answer before checks. Raises `ObservationRejected` with the reasons of those that refuse it."""


async def accept_unchecked(call: ToolCall, tool: ToolSpec, answer: Answer) -> None:
    """Implements `Judge` where there are no checks."""


@dataclass(frozen=True, slots=True)
class PromptExample:
    """A call that a real system answered, as a model is told it beside a call like it."""

    call: str
    """In the domain's written form."""
    reply: str
    """What the model should have written."""
    records: str = ""
    """The records that mattered, before it; empty where the model works on none."""


@dataclass(frozen=True, kw_only=True)
class StepContext:
    """One call on its way to an engine, and what controls, engines and questions may look at beside it.

    It is a value: `dataclasses.replace` makes the one that a control gives to `next` instead.
    """

    call: ToolCall
    """The call; its arguments fit the tool's schema."""
    tool: ToolSpec
    """The tool it names."""
    state: WorldState
    """What the call is answered on: the state that the answer's change is relative to."""
    seed: int
    """Seed of the turn's random source. All controls of a turn have the same: add the control's name for
    one of its own, `random.Random(f"{self.name}/{step.seed}")`."""
    blobs: Blobs
    """Where the contents that the answer refers to are put; stored with the turn."""
    history: Callable[[], Awaitable[tuple[Turn, ...]]]
    """Gives the turns before this one, oldest first."""
    failures: Callable[[], Awaitable[Sequence[FailedStep]]]
    """Gives the world's steps that asked a model and gave no turn."""
    state_at: Callable[[WorldRef], Awaitable[WorldState]]
    """Gives the state at a point of the history."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    """All tools of the world, by name."""
    judge: Judge = accept_unchecked
    """The checks of the world and of the tool's domain, for an imagined answer to the whole call."""
    on_delta: OnDelta | None = None
    """Who wants to read along; the answer must not depend on it."""
    instruction: str = ""
    """What the controls of the world tell a model; the same at every call while they are the same."""
    examples: tuple[PromptExample, ...] = ()
    """Calls like this one, which a model is told with it; the likest last."""
    control: str = ""
    """Name of the control that is handling it."""

    def for_control(self, control: Control) -> StepContext:
        """The same, as a control is given it."""
        # `replace` takes as long as all that most controls do with a call.
        made = object.__new__(StepContext)
        made.__dict__.update(self.__dict__, control=control.name)
        return made

    @property
    def values(self) -> Mapping[str, Any]:
        """What this control keeps in the state, by its own keys. Forks, time travel and reopened worlds
        each have what was kept there."""
        return _Own(self.state.values, f"{PREFIX}{self.control}/")

    def keep(self, answer: Answer, **values: Any) -> Answer:
        """`answer`, with which this control keeps values; `None` forgets one."""
        return answer.with_values(
            {f"{PREFIX}{self.control}/{key}": value for key, value in values.items()}
        )

    def enforce(self, observation: Observation) -> Answer:
        """An answer that changes nothing, without an engine."""
        return Answer(observation, StateChange(clock_us=self.state.clock_us))

    def after(self, answer: Answer) -> StepContext:
        """The same call again, on the state that `answer` leaves. `answer.then(…)` adds the two up."""
        return replace(self, state=self.state.after(answer.change))

    def under(self, conditions: Conditions) -> StepContext:
        """The same call while `conditions` hold, beside those that hold anyway."""
        change = StateChange(clock_us=self.state.clock_us, values=conditions.to_values())
        return replace(self, state=self.state.after(change))

    def without_effect(self, answer: Answer) -> Answer:
        """`answer`, with nothing left of what the tool did. Time passes, and controls keep what they
        keep."""
        kept = StateChange(
            clock_us=answer.change.clock_us, values=control_values(answer.change.values)
        )
        return replace(answer, change=kept)


def control_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a change's values that controls keep, the conditions among them."""
    return {key: value for key, value in values.items() if key.startswith((PREFIX, CONDITIONS))}


class _Own(Mapping[str, Any]):
    """The values below a prefix, without it."""

    def __init__(self, values: Mapping[str, Any], prefix: str) -> None:
        self._values = values
        self._prefix = prefix

    def __getitem__(self, key: str) -> Any:
        return self._values[self._prefix + key]

    def __iter__(self) -> Iterator[str]:
        cut = len(self._prefix)
        return (key[cut:] for key in self._values if key.startswith(self._prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class EngineSession(Protocol):
    """An engine brought up on one state. It moves on with every answer."""

    async def answer(self, context: StepContext) -> Answer:
        """Answers `context.call` and moves the session to the state after it.

        A session may be brought to a later state whose files and sessions are its own, but not its
        clock: another engine answered in between. The clock to go by is the context's.

        Args:
            context: The call, the tool that it names, and what is known beside.

        Raises:
            CannotCompute: this very call cannot be computed, and nothing imagines it.
            EngineFailure: no answer; the session is unusable and will be discarded.
        """
        ...

    def close(self) -> None:
        """Frees what the session holds. Never blocks."""
        ...


@runtime_checkable
class MovableSession(Protocol):
    """A session that can be brought to other states than the next: of another branch, or another world of
    its engine. That costs what differs, where opening another costs the whole state."""

    async def move(self, state: WorldState, blobs: Blobs) -> bool:
        """Brings the session to `state`, exactly as if it had been opened there.

        Returns:
            Whether it did; if not, the session is of no more use.
        """
        ...


class Engine(Protocol):
    """Answers the tools of one kind. One instance serves any number of worlds."""

    @property
    def name(self) -> str: ...

    @property
    def route(self) -> Literal["compute", "imagine"]:
        """Whether its answers are computed or imagined."""
        ...

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        """`tool` with `domain` and `binds_to` filled in, or `None` if this engine cannot answer it."""
        ...

    def refusal(self, tool: ToolSpec) -> str:
        """Why `bind` gave `None`, in one sentence, with the nearest binding it has; empty where there is
        nothing to say."""
        ...

    async def open(self, state: WorldState, blobs: Blobs) -> EngineSession:
        """Brings the engine up on `state`."""
        ...


@runtime_checkable
class BindsTogether(Protocol):
    """An engine for which what a tool does also depends on the tools beside it.

    `Engine.bind` then answers for a tool that stands alone.
    """

    def binder(self, among: Sequence[ToolSpec]) -> Callable[[ToolSpec], ToolSpec | None]:
        """What `bind` is for tools that are offered together.

        Args:
            among: All tools of the world; those that other engines took already, as they were bound.
        """
        ...


@dataclass(frozen=True, slots=True)
class CheckInput:
    """What a check may look at."""

    call: ToolCall
    tool: ToolSpec
    observation: Observation
    before: WorldState
    after: WorldState
    blobs: Blobs
    history: Sequence[Turn] = ()
    """The turns before this one, oldest first. Given for imagined observations only: a computed one
    agrees with the state by construction."""


class Check(Protocol):
    """One rule."""

    @property
    def name(self) -> str: ...

    @property
    def scope(self) -> Literal["all", "imagined"]:
        """Which observations it is asked about."""
        ...

    def judge(self, given: CheckInput) -> str | None:
        """`None` when acceptable, otherwise the reason, written for whoever must answer again."""
        ...


Next: TypeAlias = "Callable[[StepContext], Awaitable[Answer]]"
"""Answers a step: the controls behind this one, and then an engine."""


class Control(Protocol):
    """One perturbation, as middleware around the answering of calls. Subclass it; all but `name` and
    `handle` may be left as it is."""

    name: str
    """Of its own among the controls of a world; what it keeps in the state is kept under it."""
    allows_streaming: ClassVar[bool] = False
    """Whether the agent may read an answer while a model writes it: the control never changes the text of
    an answer that `next` gave."""

    async def handle(self, step: StepContext, next: Next) -> Answer:
        """Answers a step.

        `next(step)` lets the others answer. It may be called never, once or several times, and with
        another call, state or seed. The change of what is given back is relative to `step.state`. An
        observation that is not one of those that `next` gave has provenance `enforced`.

        It decides by the step, and by nothing else: where another process moves the world meanwhile, it
        is asked again with the state that is there then. What it raises fails the step.
        """
        ...

    def concerns(self, tool: ToolSpec) -> bool:
        """Whether calls of a tool come to `handle`; all do by default."""
        return True

    def tools(self, specs: Sequence[ToolSpec], state: WorldState) -> Sequence[ToolSpec]:
        """What of `specs` the agent is offered in this state, and what else."""
        return specs

    async def obedient(self, step: StepContext, observation: Observation) -> Observation:
        """An imagined observation without what the model should not have written under this control: what only the
        control says, what it hides; the same object where the model obeys. The model is asked once more before the
        agent reads what a rule made of its answer."""
        return observation

    def describe(self) -> str:
        """What a language world model is told of it, so that what it imagines agrees; nothing by
        default. It is the same at every call, so that prompts only grow."""
        return ""
