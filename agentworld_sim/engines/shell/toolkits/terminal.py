"""Plain shells: a terminal that takes keystrokes, and bash that takes a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.toolkits._answers import said
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
    return said(text)


def bash(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"], keep="all")
    return said(run.stdout + run.stderr)


def bash_c(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"])
    return said(run.stdout + run.stderr)


def failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(f"{error}\n")


def screen_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(error)
