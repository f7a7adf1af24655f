"""GSPO on TRL: a trainer that overrides only what TRL lacks.

torch and TRL are loaded when a name is asked for, not when this is imported.
"""

from typing import Any

import lazy_loader

from agentworld_sim.extras import require

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        require("trl", extra="train")
    return _load(name)
