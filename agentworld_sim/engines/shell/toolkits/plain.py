"""A shell with its streams apart: for the command line and for programs, not for agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, ShellTurn
from agentworld_sim.engines.shell._files import quoted
from agentworld_sim.engines.shell._live import Keep, ShellRun
from agentworld_sim.types.turns import Observation

_COMMAND = {"type": "string", "description": "Any bash text."}


def _observed(run: ShellRun) -> Observation:
    return Observation(
        text=run.stdout + run.stderr,
        structured={
            "stdout": run.stdout,
            "stderr": run.stderr,
            "exit_code": run.exit_code,
            "cwd": run.session.cwd,
            "ending": run.ending,
        },
    )


def _failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    stderr = f"{error}\n"
    result = {"stdout": "", "stderr": stderr, "exit_code": 1, "cwd": "", "ending": "finished"}
    return Observation(text=stderr, structured=result)


def _run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    # The shell's own `$0` and positional parameters, as `bash -c COMMAND ARG0 ARG1 …` sets them.
    words: list[str] = arguments.get("arguments", [])
    script: str = arguments["command"]
    if words:
        script = f"bash -c {' '.join(map(quoted, [script, *words]))}"
    stdin: str | None = arguments.get("stdin")
    return _observed(turn.run(script, stdin=None if stdin is None else stdin.encode("latin-1")))


def _session(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    keep: Keep = "all"
    return _observed(turn.run(arguments["command"], keep=keep))


BINDINGS: tuple[Binding, ...] = (
    Binding(
        id="shell/run",
        names=("shell_run",),
        domain="terminal",
        description="Runs a script as `bash -c` does: a fresh shell, streams apart.",
        input_schema={
            "type": "object",
            "properties": {
                "command": _COMMAND,
                "arguments": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "`$0`, `$1`, …",
                },
                "stdin": {
                    "type": "string",
                    "description": "Standard input; one character per byte (latin-1).",
                },
            },
            "required": ["command"],
        },
        operation=_run,
        failing=_failing,
    ),
    Binding(
        id="shell/session",
        names=("shell_session",),
        domain="terminal",
        description="Runs a script in one lasting shell, streams apart.",
        input_schema={
            "type": "object",
            "properties": {"command": _COMMAND},
            "required": ["command"],
        },
        operation=_session,
        keeps="all",
        failing=_failing,
    ),
)
