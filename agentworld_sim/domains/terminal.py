"""The terminal: keystrokes in, a screen out."""

from __future__ import annotations

import json
from typing import Any, cast

from agentworld_sim.domains import Domain
from agentworld_sim.tools import ToolCall, ToolSpec
from agentworld_sim.turns import Action, Observation

TYPED_SECONDS = 0.1
"""How long a typed command is given before the screen is read."""


def action(call: ToolCall, tool: ToolSpec) -> Action:
    """The keystrokes that the call amounts to, as a JSON list."""
    keystrokes: Any = call.arguments.get("keystrokes")
    if call.arguments.get("restart"):
        # An empty list would say that the task is done.
        keystrokes = [{"keystrokes": "exec bash\n", "duration": TYPED_SECONDS}]
    if not isinstance(keystrokes, list):
        command: Any = call.arguments.get("command", call.arguments.get("commands", ""))
        lines = cast("list[object]", command) if isinstance(command, list) else [command]
        keystrokes = [
            {"keystrokes": f"{line}\n", "duration": TYPED_SECONDS} for line in lines if line
        ]
    return Action(json.dumps(keystrokes, ensure_ascii=False))


def write(observation: Observation) -> str:
    """The text as it is."""
    return observation.text


def read(text: str, call: ToolCall, tool: ToolSpec) -> Observation:
    """The text as it is."""
    return Observation(text=text, provenance="imagined")


DOMAIN = Domain(
    name="terminal",
    action=action,
    write=write,
    read=read,
    fence="json",
    state="first",
    toolkits=("terminal",),
)
