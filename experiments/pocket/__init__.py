"""The pocket models: a world and an agent small enough to be trained in minutes on two cores.

Their recipes, `pocket-world.toml` and `pocket-agent.toml`, are run from the root of a clone:

    agentworld train all experiments/pocket/pocket-world.toml
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from experiments.pocket.demonstrations import agent_data
    from experiments.pocket.shell_tasks import agent_tasks
    from experiments.pocket.world import pocket_trajectories

__all__ = ["AGENT_RECIPE", "WORLD_RECIPE", "agent_data", "agent_tasks", "pocket_trajectories"]

WORLD_RECIPE: Final = Path(__file__).with_name("pocket-world.toml")
AGENT_RECIPE: Final = Path(__file__).with_name("pocket-agent.toml")

_MODULES = {
    "agent_data": "demonstrations",
    "agent_tasks": "shell_tasks",
    "pocket_trajectories": "world",
}


def __getattr__(name: str) -> Any:
    # A command needs one of them.
    if name in _MODULES:
        return getattr(import_module(f"experiments.pocket.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
