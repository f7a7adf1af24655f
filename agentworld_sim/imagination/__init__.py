"""The language world model: what cannot be computed is imagined.

`WorldModel` is what a world is given; the rest is how it is reached, asked and read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.imagination._world_imaginer import WorldImaginer
    from agentworld_sim.imagination.briefing import Briefing
    from agentworld_sim.imagination.engine import ModelEngine
    from agentworld_sim.imagination.prompt_set import PromptSet
    from agentworld_sim.imagination.usage import WorldUsage, usage_of
    from agentworld_sim.imagination.world_model import WorldModel
    from agentworld_sim.llm.settings import ModelSettings

__all__ = [
    "Briefing",
    "ModelEngine",
    "ModelSettings",
    "PromptSet",
    "WorldImaginer",
    "WorldModel",
    "WorldUsage",
    "usage_of",
]

_MODULES = {
    "Briefing": "_briefing",
    "ModelEngine": "_engine",
    "ModelSettings": "_settings",
    "PromptSet": "_prompts",
    "WorldImaginer": "_world_imaginer",
    "WorldModel": "_world_model",
    "WorldUsage": "_usage",
    "usage_of": "_usage",
}


def __getattr__(name: str) -> Any:
    # The subpackages stand alone: a scripted server needs no client, and a client no prompts.
    if name in _MODULES:
        return getattr(import_module(f"agentworld_sim.model.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
