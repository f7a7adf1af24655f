"""What a rollout is played against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentworld_sim.scoring.samples import Message, Reward


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a rollout's conversation begins."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    """As chat templates take them; empty for a task without tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentReply:
    """What the environment does after a turn of the policy."""

    messages: tuple[Message, ...] = ()
    """What the policy reads next; empty when the rollout is over."""
    done: bool = False
    metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """Counted up over the rollout, for example `steps` or `invalid_calls`."""


class Environment(Protocol):
    """One rollout's other side. Used by one rollout, then closed."""

    async def open(self) -> Opening:
        """Begins."""
        ...

    async def answer(self, text: str) -> EnvironmentReply:
        """Answers a turn of the policy.

        Args:
            text: What the policy wrote, special tokens of the end left out.

        Raises:
            WorldFailure: the infrastructure failed. The rollout ends with `env_error`.
        """
        ...

    async def reward(self) -> Reward | None:
        """Judges the rollout at its end, also when turns or tokens ran out.

        `None` where it cannot be judged: the rollout is left out of training as if it had failed.

        Raises:
            WorldFailure: the infrastructure failed (a judge that is down). The rollout ends with
                `env_error`.
        """
        ...

    @property
    def world_ref(self) -> str:
        """Where the world stands; empty without one."""
        ...

    async def close(self) -> None:
        """Frees what it holds. Also called when the rollout failed or was cancelled."""
        ...


class Task(Protocol):
    """Something to do, from which any number of equal environments can be made."""

    @property
    def name(self) -> str: ...

    async def environment(self, *, seed: int) -> Environment:
        """A new environment. All of one group begin at the same point: a fork of one world ref."""
        ...

    async def close(self) -> None:
        """Frees what the environments share."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTasks:
    """What a recipe's task function gives: it is called as `function(settings, seed)`."""

    train: Sequence[Task]
    held_out: Mapping[str, Sequence[Task]] = field(default_factory=dict[str, Sequence[Task]])
    """What success is measured on, by the name of the measure."""
