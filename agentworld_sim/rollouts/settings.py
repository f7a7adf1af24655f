"""What bounds a rollout, and how many are under way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentworld_sim.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutSettings:
    """Limits of rollouts, and how many there are at a time."""

    max_turns: int = 8
    """Turns of the policy. The environment still answers the last one: it takes effect."""
    max_turn_tokens: int = 1024
    """Tokens of one turn. A turn that reaches them ends its rollout with `max_tokens` and is not
    answered: what was cut off says nothing that could be acted on."""
    max_rollout_tokens: int = 8192
    """Tokens of the prompt and of everything after it."""
    in_flight: int = 64
    """Rollouts under way at a time."""
    rollout_seconds: float = 600.0
    """Deadline of one rollout, on the host's clock."""
    heartbeat_seconds: float = 30.0
    """How often a batch reports how far it is."""
    template: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Variables of the chat template, for example `{"enable_thinking": False}`."""

    def __post_init__(self) -> None:
        for name in ("max_turns", "max_turn_tokens", "max_rollout_tokens", "in_flight"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more, not {getattr(self, name)!r}.")
        for name in ("rollout_seconds", "heartbeat_seconds"):
            if not getattr(self, name) > 0:
                raise UsageError(f"{name} must be more than 0, not {getattr(self, name)!r}.")
