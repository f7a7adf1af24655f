"""Values of this process and of a target that are never written anywhere."""

from __future__ import annotations

import os

from agentworld_mcp_shim._settings import UpstreamTarget
from agentworld_sim.redaction.environment import SHORTEST, secrets_of


def hidden_values(target: UpstreamTarget) -> frozenset[str]:
    """The secrets of the environment, of the target's own variables, and its headers."""
    headers = {value for value in target.headers.values() if len(value) >= SHORTEST}
    # A server may repeat the token alone, without the scheme that goes before it.
    words = {word for value in headers for word in value.split() if len(word) >= SHORTEST}
    schemes = {"bearer", "digest"}
    return (
        secrets_of(dict(os.environ))
        | secrets_of(target.env)
        | headers
        | {word for word in words if word.lower() not in schemes}
    )
