"""Engines: they answer calls, given the state of a world."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from agentworld_sim.types.exchanges import Exchange, FailedStep
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import StateChange, WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import InnerAnswer, Observation, Turn

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
    examples: str = ""
    """Calls like this one and what the real system answered, as a model is told them with the call."""
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
