"""`RolloutRecord`: all that is kept of one rollout. One record serves every trainer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agentworld_sim.errors import UsageError
from agentworld_sim.scoring.samples import Message

StopReason = Literal["done", "max_turns", "max_tokens", "env_error", "cancelled"]
"""Why a rollout ended. `env_error`: the infrastructure failed, which is no fault of the policy's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutRecord:
    """One rollout: tokens as they were sampled, and everything needed to train on them or to look at it.

    The four token lists are never made by tokenising text again: what the policy sampled stands in them
    as it was sampled.
    """

    task: str
    """Name of the task."""
    group: str
    """Rollouts of one group began at the same point and are compared with each other."""
    index: int
    """Place within the group, from 0."""
    seed: int
    """Of the policy's sampling; the world's is in the task."""
    prompt_ids: tuple[int, ...]
    response_ids: tuple[int, ...]
    """Everything after the prompt: what the policy wrote and what the environment answered, in order."""
    loss_mask: tuple[int, ...]
    """As long as `response_ids`: 1 where the policy wrote, 0 where the environment did."""
    logprobs: tuple[float, ...]
    """As long as `response_ids`: natural log-probabilities under the sampling policy; 0.0 where the
    environment wrote."""
    turn_spans: tuple[tuple[int, int], ...]
    """For each turn of the policy, where in `response_ids` it begins and ends (end excluded)."""
    reward: float | None
    """`None` where there is none: the infrastructure failed, or the rollout was cancelled. Never 0 for
    that, and never part of a baseline."""
    reward_parts: Mapping[str, float] = field(default_factory=dict[str, float])
    stop_reason: StopReason
    error: str = ""
    """What failed; empty unless `env_error` or `cancelled`."""
    policy_version: int = 0
    """The optimiser step whose weights sampled it."""
    messages: tuple[Message, ...] = ()
    """The conversation, for people."""
    world_ref: str = ""
    """Where the world stood at the end, if there is one."""
    env_metrics: Mapping[str, float] = field(default_factory=dict[str, float])
    """Numbers such as `steps`, `env_seconds`, `policy_seconds`, `invalid_calls`."""

    def to_line(self) -> str:
        """One line of JSON, without the newline."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_line(cls, line: str) -> RolloutRecord:
        """Raises `UsageError` when the line is no record."""
        try:
            value: dict[str, Any] = json.loads(line)
            for name in ("prompt_ids", "response_ids", "loss_mask", "logprobs", "messages"):
                value[name] = tuple(value[name])
            value["turn_spans"] = tuple((begin, end) for begin, end in value["turn_spans"])
            return cls(**value)
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"not a rollout: {line[:80]!r} ({error})") from None
