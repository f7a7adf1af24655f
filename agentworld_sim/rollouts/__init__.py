"""Rollouts: many episodes of a policy in worlds at a time, token ids in and token ids out.

One rollout is one played episode with its tokens; a batch is what `RolloutEngine.run` plays together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.rollouts.engine import RolloutEngine, RolloutFailed
    from agentworld_sim.rollouts.hermes import tool_objects, write_call
    from agentworld_sim.rollouts.http_policy import HttpPolicy, HttpPolicySettings
    from agentworld_sim.rollouts.log import RolloutLog, read_rollouts, show
    from agentworld_sim.rollouts.policy import Completion, Policy
    from agentworld_sim.rollouts.policy_check import PolicyDrifted, verify_policy
    from agentworld_sim.rollouts.prediction_task import UNFINISHED, PredictionTask, opening_tag
    from agentworld_sim.rollouts.progress import Progress
    from agentworld_sim.rollouts.record import RolloutRecord, StopReason
    from agentworld_sim.rollouts.rollout import seed_of
    from agentworld_sim.rollouts.scripted_policy import ScriptedPolicy
    from agentworld_sim.rollouts.settings import RolloutSettings
    from agentworld_sim.rollouts.tasks import (
        AgentTasks,
        Environment,
        EnvironmentReply,
        Opening,
        Task,
    )
    from agentworld_sim.rollouts.turn_tokens import ChatTokenizer, TurnTokens
    from agentworld_sim.rollouts.world_task import WorldTask, WorldTaskSettings

_MODULES = {
    "UNFINISHED": "prediction_task",
    "AgentTasks": "tasks",
    "ChatTokenizer": "turn_tokens",
    "Completion": "policy",
    "Environment": "tasks",
    "EnvironmentReply": "tasks",
    "HttpPolicy": "http_policy",
    "HttpPolicySettings": "http_policy",
    "Opening": "tasks",
    "Policy": "policy",
    "PolicyDrifted": "policy_check",
    "PredictionTask": "prediction_task",
    "Progress": "progress",
    "RolloutEngine": "engine",
    "RolloutFailed": "engine",
    "RolloutLog": "log",
    "RolloutRecord": "record",
    "RolloutSettings": "settings",
    "ScriptedPolicy": "scripted_policy",
    "StopReason": "record",
    "Task": "tasks",
    "TurnTokens": "turn_tokens",
    "WorldTask": "world_task",
    "WorldTaskSettings": "world_task",
    "opening_tag": "prediction_task",
    "read_rollouts": "log",
    "seed_of": "rollout",
    "show": "log",
    "tool_objects": "hermes",
    "verify_policy": "policy_check",
    "write_call": "hermes",
}

__all__ = [
    "UNFINISHED",
    "AgentTasks",
    "ChatTokenizer",
    "Completion",
    "Environment",
    "EnvironmentReply",
    "HttpPolicy",
    "HttpPolicySettings",
    "Opening",
    "Policy",
    "PolicyDrifted",
    "PredictionTask",
    "Progress",
    "RolloutEngine",
    "RolloutFailed",
    "RolloutLog",
    "RolloutRecord",
    "RolloutSettings",
    "ScriptedPolicy",
    "StopReason",
    "Task",
    "TurnTokens",
    "WorldTask",
    "WorldTaskSettings",
    "opening_tag",
    "read_rollouts",
    "seed_of",
    "show",
    "tool_objects",
    "verify_policy",
    "write_call",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
