"""Engines: they answer calls, given the state of a world. Checks: they say whether an answer is acceptable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from agentworld_sim.ports.steps import Answer, StepContext
from agentworld_sim.types.files import Blobs
from agentworld_sim.types.state import WorldState
from agentworld_sim.types.tools import ToolCall, ToolSpec
from agentworld_sim.types.turns import Observation, Turn


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
