"""From a recipe to the settings of the rollout engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.rollouts import RolloutSettings
from agentworld_trainers.recipes.schema import Rollouts


def rollout_settings(
    part: Rollouts, *, template: Mapping[str, Any] | None = None
) -> RolloutSettings:
    """The settings that a recipe gives.

    Args:
        part: The table `rollouts` of a stage.
        template: Variables of the chat template.
    """
    return RolloutSettings(
        max_turns=part.max_turns,
        max_turn_tokens=part.max_turn_tokens,
        max_rollout_tokens=part.max_rollout_tokens,
        in_flight=part.in_flight,
        rollout_seconds=part.rollout_seconds,
        heartbeat_seconds=part.heartbeat_seconds,
        template=template or {},
    )
