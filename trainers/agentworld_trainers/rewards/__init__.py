"""Rewards of predictions: the checks of a world, exact content, and a judge."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_trainers.rewards._appeal import NoAppealCheck
    from agentworld_trainers.rewards._judge import Judge
    from agentworld_trainers.rewards._own import own_reward
    from agentworld_trainers.rewards._prediction import FULL, PredictionReward, RewardFunction
    from agentworld_trainers.rewards._prediction_task import PredictionTask
    from agentworld_trainers.rewards._reward import Reward

__all__ = [
    "FULL",
    "Judge",
    "NoAppealCheck",
    "PredictionReward",
    "PredictionTask",
    "Reward",
    "RewardFunction",
    "own_reward",
]

_MODULES = {
    "FULL": "_prediction",
    "Judge": "_judge",
    "NoAppealCheck": "_appeal",
    "PredictionReward": "_prediction",
    "PredictionTask": "_prediction_task",
    "Reward": "_reward",
    "RewardFunction": "_prediction",
    "own_reward": "_own",
}


def __getattr__(name: str) -> Any:
    # Tasks of rollouts know what a reward is, and a reward's task what a task is.
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
