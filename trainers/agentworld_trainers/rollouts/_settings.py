"""What bounds an episode, and how many are under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentworld_sim.errors import UsageError

if TYPE_CHECKING:
    from agentworld_trainers.recipes._schema import Rollouts


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """Limits of episodes, and how many there are at a time."""

    max_turns: int = 8
    """Turns of the policy. The environment still answers the last one: it takes effect."""
    max_turn_tokens: int = 1024
    """Tokens of one turn. A turn that reaches them ends its episode with `max_tokens` and is not
    answered: what was cut off says nothing that could be acted on."""
    max_episode_tokens: int = 8192
    """Tokens of the prompt and of everything after it."""
    in_flight: int = 64
    """Episodes under way at a time."""
    episode_seconds: float = 600.0
    """Deadline of one episode, on the host's clock."""
    heartbeat_seconds: float = 30.0
    """How often a rollout says how far it is."""
    template: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Variables of the chat template, for example `{"enable_thinking": False}`."""

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_turn_tokens", "max_episode_tokens", "in_flight"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, not {getattr(self, name)!r}.")
        for name in ("episode_seconds", "heartbeat_seconds"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be more than 0, not {getattr(self, name)!r}.")

    @classmethod
    def of(cls, part: Rollouts, *, template: Mapping[str, Any] | None = None) -> RolloutSettings:
        """The settings that a recipe gives.

        Args:
            part: The table `rollouts` of a stage.
            template: As the field.
        """
        return cls(
            max_turns=part.max_turns,
            max_turn_tokens=part.max_turn_tokens,
            max_episode_tokens=part.max_episode_tokens,
            in_flight=part.in_flight,
            episode_seconds=part.episode_seconds,
            heartbeat_seconds=part.heartbeat_seconds,
            template=template or {},
        )
