"""The pocket models: a world and an agent small enough to be trained in minutes on two cores."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_trainers.pocket._demonstrations import agent_data
    from agentworld_trainers.pocket.shell_tasks import agent_tasks
    from agentworld_trainers.pocket.world import pocket_trajectories

__all__ = ["agent_data", "agent_tasks", "pocket_trajectories"]

_MODULES = {
    "agent_data": "_demonstrations",
    "agent_tasks": "shell_tasks",
    "pocket_trajectories": "world",
}


def __getattr__(name: str) -> Any:
    # A command needs one of them.
    if name in _MODULES:
        return getattr(import_module(f"agentworld_trainers.pocket.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
