"""The file and shell tools of deepagents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, ShellTurn
from agentworld_sim.engines.shell.toolkits._answers import INTEGER, STRING, said, schema
from agentworld_sim.turns import Observation

EXECUTE_SECONDS = 120


def _execute(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(
        arguments["command"], merge=True, timeout_s=arguments.get("timeout") or EXECUTE_SECONDS
    )
    word = "failed" if run.exit_code else "succeeded"
    return said(f"{run.stdout}\n[Command {word} with exit code {run.exit_code}]")


BINDINGS: tuple[Binding, ...] = (
    Binding(
        id="deepagents/execute",
        names=("execute",),
        domain="swe",
        description="Runs a shell command and returns its output and exit code.",
        input_schema=schema("command", command=STRING, timeout=INTEGER),
        operation=_execute,
    ),
)
