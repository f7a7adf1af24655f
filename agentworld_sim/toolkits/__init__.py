"""Toolkits: the well-known tools as data, one module per maker, in one registry for all engines."""

from agentworld_sim.toolkits.domain_inference import inferred_domain
from agentworld_sim.toolkits.fitting import arguments_of, binding_id, schema_fits
from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.toolkits.lookup import (
    binding_for,
    bound_to,
    check_toolkit,
    failure_of,
    known_tool,
    known_tools,
    resolved,
    toolkit,
    toolkits,
    unknown_to,
)

__all__ = [
    "KnownTool",
    "arguments_of",
    "binding_for",
    "binding_id",
    "bound_to",
    "check_toolkit",
    "failure_of",
    "inferred_domain",
    "known_tool",
    "known_tools",
    "resolved",
    "schema_fits",
    "toolkit",
    "toolkits",
    "unknown_to",
]
