"""Rollouts: many episodes at a time, token in and token out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_trainers.errors import RolloutFailed
    from agentworld_trainers.rollouts._engine import RolloutEngine
    from agentworld_trainers.rollouts._http_policy import HttpPolicy, HttpPolicySettings
    from agentworld_trainers.rollouts._log import EpisodeLog, read_episodes, show
    from agentworld_trainers.rollouts._policy import Completion, Policy
    from agentworld_trainers.rollouts._progress import Progress
    from agentworld_trainers.rollouts._record import EpisodeRecord, StopReason
    from agentworld_trainers.rollouts._scripted import ScriptedPolicy
    from agentworld_trainers.rollouts._settings import RolloutSettings
    from agentworld_trainers.rollouts._tasks import (
        AgentTasks,
        Environment,
        EnvironmentReply,
        Opening,
        Task,
    )
    from agentworld_trainers.rollouts._turn_tokens import ChatTokenizer, TurnTokens
    from agentworld_trainers.rollouts._verify import PolicyDrifted, verify_policy
    from agentworld_trainers.rollouts._world_task import WorldTask

_MODULES = {
    "AgentTasks": "_tasks",
    "ChatTokenizer": "_turn_tokens",
    "Completion": "_policy",
    "Environment": "_tasks",
    "EnvironmentReply": "_tasks",
    "EpisodeLog": "_log",
    "EpisodeRecord": "_record",
    "HttpPolicy": "_http_policy",
    "HttpPolicySettings": "_http_policy",
    "Opening": "_tasks",
    "Policy": "_policy",
    "PolicyDrifted": "_verify",
    "Progress": "_progress",
    "RolloutEngine": "_engine",
    "RolloutFailed": "_engine",
    "RolloutSettings": "_settings",
    "ScriptedPolicy": "_scripted",
    "StopReason": "_record",
    "Task": "_tasks",
    "TurnTokens": "_turn_tokens",
    "WorldTask": "_world_task",
    "read_episodes": "_log",
    "show": "_log",
    "verify_policy": "_verify",
}

__all__ = [
    "AgentTasks",
    "ChatTokenizer",
    "Completion",
    "Environment",
    "EnvironmentReply",
    "EpisodeLog",
    "EpisodeRecord",
    "HttpPolicy",
    "HttpPolicySettings",
    "Opening",
    "Policy",
    "PolicyDrifted",
    "Progress",
    "RolloutEngine",
    "RolloutFailed",
    "RolloutSettings",
    "ScriptedPolicy",
    "StopReason",
    "Task",
    "TurnTokens",
    "WorldTask",
    "read_episodes",
    "show",
    "verify_policy",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"agentworld_trainers.rollouts.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
