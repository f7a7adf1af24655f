"""Rollouts: many episodes of a policy in worlds at a time, token ids in and token ids out.

One rollout is one played episode with its tokens; a batch is what `RolloutEngine.run` plays together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.rollouts.hermes import tool_objects, write_call
    from agentworld_sim.rollouts.http_policy import HttpPolicy, HttpPolicySettings
    from agentworld_sim.rollouts.policies import (
        Completion,
        Policy,
        PolicyDrifted,
        ScriptedPolicy,
        verify_policy,
    )
    from agentworld_sim.rollouts.prediction_task import UNFINISHED, PredictionTask, opening_tag
    from agentworld_sim.rollouts.rollout import Progress, RolloutSettings, seed_of
    from agentworld_sim.rollouts.rollout_engine import RolloutEngine, RolloutFailed
    from agentworld_sim.rollouts.rollout_log import (
        RolloutLog,
        RolloutRecord,
        StopReason,
        read_rollouts,
        show,
    )
    from agentworld_sim.rollouts.tasks import (
        AgentTasks,
        Environment,
        EnvironmentReply,
        Opening,
        Task,
    )
    from agentworld_sim.rollouts.turn_tokens import ChatTokenizer, TurnTokens
    from agentworld_sim.rollouts.world_task import WorldTask, WorldTaskSettings

_MODULES = """
rollout_engine: RolloutEngine RolloutFailed
hermes: tool_objects write_call
http_policy: HttpPolicy HttpPolicySettings
policies: Completion Policy PolicyDrifted ScriptedPolicy verify_policy
prediction_task: PredictionTask UNFINISHED opening_tag
rollout: Progress RolloutSettings seed_of
rollout_log: RolloutLog RolloutRecord StopReason read_rollouts show
tasks: AgentTasks Environment EnvironmentReply Opening Task
turn_tokens: ChatTokenizer TurnTokens
world_task: WorldTask WorldTaskSettings
"""

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
    for line in _MODULES.split("\n"):
        module, _, names = line.partition(": ")
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
