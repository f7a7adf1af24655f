"""The language world model: what cannot be computed is imagined.

`WorldModel` is what a world is given; the rest is how it is reached, asked and read.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentworld_sim.imagination.prompt_set import PromptSet
    from agentworld_sim.imagination.usage import WorldUsage, usage_of
    from agentworld_sim.imagination.world_model import WorldModel

__all__ = [
    "PromptSet",
    "WorldModel",
    "WorldUsage",
    "usage_of",
]

_MODULES = {
    "PromptSet": "prompt_set",
    "WorldModel": "world_model",
    "WorldUsage": "usage",
    "usage_of": "usage",
}


def __getattr__(name: str) -> Any:
    # Imported late: whoever reads a prompt set needs no client.
    if name in _MODULES:
        return getattr(import_module(f"agentworld_sim.imagination.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
