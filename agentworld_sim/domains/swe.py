"""Software engineering: the tools of coding agents."""

from __future__ import annotations

import json

from agentworld_sim.domains import Domain
from agentworld_sim.tools import ToolCall, ToolSpec
from agentworld_sim.turns import Action


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """The call as JSON: `{"name": …, "arguments": …}`."""
    value = {"name": call.name, "arguments": dict(call.arguments)}
    return Action(json.dumps(value, ensure_ascii=False))


DOMAIN = Domain(name="swe", action=action, toolkits=("claude-code",))
