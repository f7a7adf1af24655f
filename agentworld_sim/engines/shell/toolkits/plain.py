"""A shell with its streams apart: for the command line and for programs, not for agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.live_files import quoted
from agentworld_sim.engines.shell.live_shell import Keep, ShellRun
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation


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


def failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    stderr = f"{error}\n"
    result = {"stdout": "", "stderr": stderr, "exit_code": 1, "cwd": "", "ending": "finished"}
    return Observation(text=stderr, structured=result)


def run_script(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    # The shell's own `$0` and positional parameters, as `bash -c COMMAND ARG0 ARG1 …` sets them.
    words: list[str] = arguments.get("arguments", [])
    script: str = arguments["command"]
    if words:
        script = f"bash -c {' '.join(map(quoted, [script, *words]))}"
    stdin: str | None = arguments.get("stdin")
    return _observed(turn.run(script, stdin=None if stdin is None else stdin.encode("latin-1")))


def run_in_session(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    keep: Keep = "all"
    return _observed(turn.run(arguments["command"], keep=keep))
