"""GSPO on TRL: a trainer that overrides only what TRL lacks.

torch and TRL are loaded when a name is asked for, not when this is imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentworld_sim.extras import require

if TYPE_CHECKING:
    from agentworld_trainers.gspo_trainer._config import GspoConfig, gspo_config
    from agentworld_trainers.gspo_trainer._trainer import Collect, GspoTrainer, TurnCredit

__all__ = ["Collect", "GspoConfig", "GspoTrainer", "TurnCredit", "gspo_config"]

_MODULES = {
    "Collect": "_trainer",
    "GspoConfig": "_config",
    "GspoTrainer": "_trainer",
    "TurnCredit": "_trainer",
    "gspo_config": "_config",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        require("trl", extra="train")
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
