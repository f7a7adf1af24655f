"""Toolkits: the well-known tools as data, one module per maker, in one registry for all engines."""

from agentworld_sim.toolkits.domain_inference import infer_domain
from agentworld_sim.toolkits.fitting import arguments_of, binding_id, schema_fits
from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.toolkits.lookup import (
    bind_to,
    binding_for,
    check_toolkit,
    failure_of,
    known_tool,
    known_tools,
    resolve_function,
    toolkit,
    toolkits,
    unknown_to,
)

__all__ = [
    "KnownTool",
    "arguments_of",
    "bind_to",
    "binding_for",
    "binding_id",
    "check_toolkit",
    "failure_of",
    "infer_domain",
    "known_tool",
    "known_tools",
    "resolve_function",
    "schema_fits",
    "toolkit",
    "toolkits",
    "unknown_to",
]
