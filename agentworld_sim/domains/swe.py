"""Software engineering: the tools of coding agents."""

from __future__ import annotations

import json

from agentworld_sim.domains import Domain
from agentworld_sim.tools import ToolCall, ToolSpec
from agentworld_sim.turns import Action, Observation


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """The call as JSON: `{"name": …, "arguments": …}`."""
    value = {"name": call.name, "arguments": dict(call.arguments)}
    return Action(json.dumps(value, ensure_ascii=False))


def write(observation: Observation) -> str:
    """The text as it is."""
    return observation.text


def read(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """The text as it is."""
    return Observation(text=text, provenance="imagined")


DOMAIN = Domain(
    name="swe",
    action=action,
    write=write,
    read=read,
    fence="json",
    toolkits=("claude-code",),
)
