"""Optional packages: what to install when one is missing. The only place that says so."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from agentworld_sim.errors import UsageError


def require(module: str, *, extra: str) -> ModuleType:
    """Imports `module`, which comes with the extra `extra`.

    Args:
        extra: The name in `pip install 'agentworld-sim[EXTRA]'`.

    Raises:
        UsageError: it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        wanted = module.partition(".")[0]
        # A module missing further in is a broken installation, not a missing extra.
        if (error.name or "").partition(".")[0] != wanted:
            raise
        raise UsageError(
            f"this needs the package {wanted!r}, which is not installed. Install it with"
            f" `pip install 'agentworld-sim[{extra}]'`."
        ) from None
