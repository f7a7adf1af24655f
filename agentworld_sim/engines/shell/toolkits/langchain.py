"""LangChain's tools: `ShellTool`, `ShellToolMiddleware` and the file management toolkit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, ShellTurn
from agentworld_sim.engines.shell.toolkits._answers import said, schema
from agentworld_sim.turns import Observation


def _terminal(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    commands = arguments["commands"]
    script = commands if isinstance(commands, str) else ";".join(commands)
    return said(turn.run(script, merge=True).stdout)


BINDINGS: tuple[Binding, ...] = (
    Binding(
        id="langchain/terminal",
        names=("terminal",),
        domain="terminal",
        description="Run shell commands on this Linux machine.",
        input_schema=schema(
            "commands",
            commands={
                "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
            },
        ),
        operation=_terminal,
    ),
)
