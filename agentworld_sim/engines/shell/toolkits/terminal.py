"""Plain shells: a terminal that takes keystrokes, and bash that takes a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, ShellTurn
from agentworld_sim.engines.shell.toolkits._answers import STRING, said, schema
from agentworld_sim.turns import Observation


def _bash(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"], keep="all")
    return said(run.stdout + run.stderr)


def _bash_c(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"])
    return said(run.stdout + run.stderr)


BINDINGS: tuple[Binding, ...] = (
    Binding(
        id="terminal/bash",
        names=("bash",),
        domain="terminal",
        description="Runs a command in one bash session that stays open between calls.",
        input_schema=schema("command", command=STRING),
        operation=_bash,
        keeps="all",
    ),
    Binding(
        id="terminal/bash-c",
        names=(),
        domain="terminal",
        description="Runs a command in a new bash.",
        input_schema=schema("command", command=STRING),
        operation=_bash_c,
    ),
)
