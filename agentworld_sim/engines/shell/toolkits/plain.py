"""Shells of no maker: a terminal for keystrokes, bash for a command, and a shell with its streams apart, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.live_files import quote_word
from agentworld_sim.engines.shell.live_shell import ShellRun
from agentworld_sim.engines.shell.toolkits._answers import failure_text, text_answer
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

SCREEN = "screen"
"""The name under which the terminal's screen is kept."""


def keystrokes(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    # The emulator is needed by no other tool.
    from agentworld_sim.engines.shell.terminal_emulator import Keystrokes, TerminalScreen, press

    kept = turn.raw.get(SCREEN)
    typed = [
        Keystrokes(str(item["keystrokes"]), float(item.get("duration", 0.0)))
        for item in arguments["keystrokes"]
    ]
    screen, session, text = press(
        turn.live,
        turn.session,
        TerminalScreen() if kept is None else TerminalScreen.from_bytes(kept),
        typed,
    )
    turn.raw[SCREEN] = screen.to_bytes()
    turn.sessions[turn.shell] = session
    turn.changed |= {SCREEN, turn.shell}
    return text_answer(text)


def bash(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"], keep="all")
    return text_answer(run.stdout + run.stderr)


def bash_c(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"])
    return text_answer(run.stdout + run.stderr)


failing = failure_text("{error}\n")


screen_failing = failure_text("{error}")


def _observation(run: ShellRun) -> Observation:
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


def streams_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    stderr = f"{error}\n"
    result = {"stdout": "", "stderr": stderr, "exit_code": 1, "cwd": "", "ending": "finished"}
    return Observation(text=stderr, structured=result)


def run_script(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    # The shell's own `$0` and positional parameters, as `bash -c COMMAND ARG0 ARG1 …` sets them.
    words: list[str] = arguments.get("arguments", [])
    script: str = arguments["command"]
    if words:
        script = f"bash -c {' '.join(map(quote_word, [script, *words]))}"
    stdin: str | None = arguments.get("stdin")
    return _observation(turn.run(script, stdin=None if stdin is None else stdin.encode("latin-1")))


def run_in_session(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return _observation(turn.run(arguments["command"], keep="all"))
