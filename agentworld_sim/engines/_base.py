"""What an engine is: something that answers a call, given the state of a world."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agentworld_sim.state._changes import StateChange, WorldState
from agentworld_sim.state._files import Blobs
from agentworld_sim.tools import ToolCall, ToolSpec
from agentworld_sim.turns import InnerAnswer, Observation


@dataclass(frozen=True, slots=True)
class Answer:
    """An engine's answer: what the agent sees and what it did to the state."""

    observation: Observation
    change: StateChange
    inner: tuple[InnerAnswer, ...] = ()


class EngineSession(Protocol):
    """An engine brought up on one state. It moves on with every answer."""

    async def answer(self, call: ToolCall, tool: ToolSpec, *, seed: int, blobs: Blobs) -> Answer:
        """Answers `call` and moves the session to the state after it.

        Args:
            call: The call; its arguments fit the tool's schema.
            tool: The tool it names.
            seed: Seed of the turn's random source.
            blobs: Where the contents that the answer refers to are put; stored with the turn.

        Raises:
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

    def bind(self, tool: ToolSpec) -> ToolSpec | None:
        """`tool` with `domain` and `binds_to` filled in, or `None` if this engine cannot answer it."""
        ...

    def refusal(self, tool: ToolSpec) -> str:
        """Why `bind` gave `None`, in one sentence, with the nearest binding it has."""
        ...

    async def open(self, state: WorldState, blobs: Blobs) -> EngineSession:
        """Brings the engine up on `state`."""
        ...
