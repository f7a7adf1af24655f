"""The seams of a world, as protocols: engines, what they ask, and who answers it.

An engine computes what it can. What it cannot it turns into a `Question`, with all that belongs to it: the
prompt, the schema, how the answer is read, judged and recorded. An `Imaginer` answers every question in the
same way, whichever engine asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from agentworld_sim.types.exchanges import Exchange, FailedStep
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import DomainName, ToolCall, ToolSpec
from agentworld_sim.types.turns import Action, InnerAnswer, Observation, Provenance, Turn

OnDelta = Callable[[str], None]
"""Is given a piece of an observation's text while it is being written."""


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
        change = replace(self.change, values={**self.change.values, **values})
        return replace(self, change=change)

    def delayed(self, by_us: int) -> Answer:
        """The same, so much later on the world's clock."""
        if not by_us:
            return self
        return replace(self, change=replace(self.change, clock_us=self.change.clock_us + by_us))

    def then(self, later: Answer) -> Answer:
        """`later`, which was given on the state that this one leaves, with the changes of both."""
        return replace(
            later, change=self.change.then(later.change), inner=(*self.inner, *later.inner)
        )


Judge = Callable[[ToolCall, ToolSpec, Answer], Awaitable[None]]
"""Puts an answer before checks. Raises `ObservationRejected` with the reasons of those that refuse it."""


async def unjudged(call: ToolCall, tool: ToolSpec, answer: Answer) -> None:
    """Implements `Judge` where there are no checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnContext:
    """What an engine may look at, beside the call."""

    state: WorldState
    """The world before the turn."""
    seed: int
    """Seed of the turn's random source."""
    blobs: Blobs
    """Where the contents that the answer refers to are put; stored with the turn."""
    history: Callable[[], Awaitable[tuple[Turn, ...]]]
    """Gives the turns before this one, oldest first."""
    failures: Callable[[], Awaitable[Sequence[FailedStep]]]
    """Gives the world's steps that asked a model and gave no turn."""
    tools: Mapping[str, ToolSpec] = field(default_factory=dict[str, ToolSpec])
    """All tools of the world, by name."""
    judge: Judge = unjudged
    """The checks of the world and of the tool's domain, for an imagined answer to the whole call."""
    on_delta: OnDelta | None = None
    """Who wants to read along; the answer must not depend on it."""
    instruction: str = ""
    """What the controls of the world tell a model; the same at every call while they are the same."""


class EngineSession(Protocol):
    """An engine brought up on one state. It moves on with every answer."""

    async def answer(self, call: ToolCall, tool: ToolSpec, context: TurnContext) -> Answer:
        """Answers `call` and moves the session to the state after it.

        A session may be brought to a later state whose files and sessions are its own, but not its
        clock: another engine answered in between. The clock to go by is the context's.

        Args:
            call: The call; its arguments fit the tool's schema.
            tool: The tool it names.
            context: What is known beside the call.

        Raises:
            CannotCompute: this very call cannot be computed, and nothing imagines it.
            EngineFailure: no answer; the session is unusable and will be discarded.
        """
        ...

    def close(self) -> None:
        """Frees what the session holds. Never blocks."""
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


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionKey:
    """What names a question in a cassette, beside the state of the world and its history."""

    kind: Literal["tool", "command"]
    name: str
    """The tool, or the command's first word."""
    about: Mapping[str, Any]
    """The arguments; of a command `argv`, `cwd` and perhaps `stdin`."""
    env: tuple[str, str, Mapping[str, str]] = ("", "", MappingProxyType({}))
    """Of a command: user, host and exported variables."""
    files_sum: int | None = None
    """Hash of all files where the question is asked; `None` for those of the state before the turn."""
    earlier: tuple[tuple[str, ...], ...] = ()
    """Commands that were imagined in the same turn before."""


@dataclass(frozen=True, slots=True)
class Part:
    """One action of a conversation, and what happened elsewhere before it."""

    number: int
    """From 1, counting the conversation's own actions of the whole history."""
    action: Action
    answer: str | None
    """`None` for the action that is asked about."""
    between: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a question tells a model; the imaginer adds its part and cuts it to its budget."""

    subject: DomainName | Literal["command"]
    """Whose conversation it is: a domain's, or that of the commands inside of shells."""
    parts: tuple[Part, ...]
    """Oldest first; the last one is asked about."""
    tools: Sequence[ToolSpec] = ()
    """The tools of the domain."""
    records: str = ""
    """Records of the world that matter; told with the last part, and never again."""
    secrets: frozenset[str] = frozenset()
    """Texts that must not be told, beside those of the scenario."""
    memory: dict[str, Any] = field(default_factory=dict[str, Any], compare=False)
    """Kept by whoever asks again and again: what was written of a conversation is not written twice."""


@dataclass(frozen=True, slots=True)
class Imagined(Generic[T]):
    """An answer that nobody computed."""

    value: T
    provenance: Provenance
    """`imagined` or `replayed`."""
    exchanges: tuple[Exchange, ...] = ()
    """What a model was asked for it, and said."""


def whole_answer(imagined: Imagined[Answer]) -> Answer:
    """The answer to a call that was imagined as a whole."""
    given = imagined.value
    observation = replace(given.observation, provenance=imagined.provenance)
    return replace(given, observation=observation, exchanges=imagined.exchanges)


class Question(Protocol[T]):
    """Something that an engine cannot compute."""

    @property
    def about(self) -> str:
        """`observation`, or a command's words; for the records."""
        ...

    @property
    def key(self) -> QuestionKey:
        """What its answer is recorded under."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """What the reply must fit where the server can enforce it."""
        ...

    @property
    def streams(self) -> bool:
        """Whether the reply, as it is written, is what the agent will read."""
        ...

    def prompt(self) -> Prompt:
        """What a model is told."""
        ...

    def read(self, text: str) -> T:
        """The answer that a model wrote. Raises `ValueError` with the reason, for the model."""
        ...

    async def judge(self, imagined: Imagined[T], context: TurnContext) -> None:
        """Puts an answer before the world's checks (`context.judge`), where these judge such answers.

        Raises:
            ObservationRejected: checks refuse it.
        """
        ...

    def dump(self, value: T) -> Mapping[str, Any]:
        """The answer as JSON, for a cassette."""
        ...

    def load(self, answer: Mapping[str, Any]) -> T:
        """What `dump` wrote."""
        ...


class Imaginer(Protocol):
    """Answers what engines cannot compute, for the worlds of one scenario."""

    async def ask(self, question: Question[T], context: TurnContext) -> Imagined[T]:
        """The first answer that can be used and that the world's checks accept.

        Raises:
            WorldFailure: there is none; its `exchanges` tell what was said.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """What an imaginer is told of a scenario."""

    task: str = ""
    """What the agent is asked to do; told to the model where the domain is a screen."""
    initial_state: Mapping[DomainName, str] = field(default_factory=dict[DomainName, str])
    """What is there before the first turn, in the domain's own form: a screen, or a description."""
    demonstrations: Mapping[DomainName, str] = field(default_factory=dict[DomainName, str])
    """Examples of calls and answers of the real system."""
    secrets: frozenset[str] = frozenset()
    """Texts of the world that no prompt may contain."""
    instruction: str = ""
    """How the world shall behave."""
    files_sum: int | None = None
    """Hash of the machine's files before the scenario's came to it; `None` for the usual machine."""
    seed: int = 0
    """What the worlds begin with."""


class WorldImaginer(Protocol):
    """What `World.create(model=…)` takes. A `WorldModel` asks a server, a tape says again what was
    recorded; a tape may have no model and no settings."""

    @property
    def name(self) -> str:
        """The name of the model that answers; empty where nobody knows it."""
        ...

    def imaginer(
        self, briefing: Briefing | None = None, limits: Mapping[str, Any] | None = None
    ) -> Imaginer:
        """What answers in the worlds of a scenario.

        Args:
            briefing: What the scenario tells it.
            limits: How much the scenario lets a model think, write and use; see `WorldModel.limited`.
        """
        ...

    def acquire(self, user: object) -> None:
        """Says that `user` uses it."""
        ...

    async def release(self, user: object) -> None:
        """Says that `user` does not use it any more."""
        ...
