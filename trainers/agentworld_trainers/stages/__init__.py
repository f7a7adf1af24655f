"""Stages of training: continued pre-training, supervised fine-tuning, and reinforcement learning.

Each stage takes a recipe and a run, and returns the folder of its result.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_trainers.stages._data import make_data
    from agentworld_trainers.stages._eval import EvalReport, evaluate
    from agentworld_trainers.stages._gspo_stages import train_agent, train_rl
    from agentworld_trainers.stages._models import load_model, load_tokenizer
    from agentworld_trainers.stages._processes import threads
    from agentworld_trainers.stages._reinforcement import rollout_settings
    from agentworld_trainers.stages._run import Run, StageFolder, read_metrics
    from agentworld_trainers.stages._supervised import train_cpt, train_sft

__all__ = [
    "EvalReport",
    "Run",
    "StageFolder",
    "evaluate",
    "load_model",
    "load_tokenizer",
    "make_data",
    "read_metrics",
    "rollout_settings",
    "threads",
    "train_agent",
    "train_cpt",
    "train_rl",
    "train_sft",
]

_MODULES = {
    "EvalReport": "_eval",
    "Run": "_run",
    "StageFolder": "_run",
    "evaluate": "_eval",
    "load_model": "_models",
    "load_tokenizer": "_models",
    "make_data": "_data",
    "read_metrics": "_run",
    "rollout_settings": "_reinforcement",
    "threads": "_processes",
    "train_agent": "_gspo_stages",
    "train_cpt": "_supervised",
    "train_rl": "_gspo_stages",
    "train_sft": "_supervised",
}


def __getattr__(name: str) -> Any:
    # Most of them need torch, and a command runs one.
    if name in _MODULES:
        return getattr(import_module(f"agentworld_trainers.stages.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
