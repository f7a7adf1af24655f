"""Plain shells: a terminal that takes keystrokes, and bash that takes a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell._bindings import Binding, ShellTurn
from agentworld_sim.engines.shell.toolkits._answers import NUMBER, STRING, said, schema
from agentworld_sim.types.turns import Observation

SCREEN = "screen"
"""The name under which the terminal's screen is kept."""

_KEYSTROKES = {
    "type": "array",
    "items": schema("keystrokes", keystrokes=STRING, duration=NUMBER),
}


def _press(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    # The emulator is needed by no other tool.
    from agentworld_sim.engines.shell._terminal import Keystrokes, TerminalScreen, press

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


def _bash(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"], keep="all")
    return said(run.stdout + run.stderr)


def _bash_c(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    run = turn.run(arguments["command"])
    return said(run.stdout + run.stderr)


def _failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(f"{error}\n")


def _screen_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(error)


BINDINGS: tuple[Binding, ...] = (
    Binding(
        id="terminal/keystrokes",
        names=("keystrokes",),
        domain="terminal",
        description=(
            "Types into a terminal and shows its screen. Each entry is typed, then the terminal is"
            " given `duration` seconds; a command runs when its newline is typed."
        ),
        input_schema=schema("keystrokes", keystrokes=_KEYSTROKES),
        operation=_press,
        keeps="all",
        failing=_screen_failing,
    ),
    Binding(
        id="terminal/bash",
        names=("bash",),
        domain="terminal",
        description="Runs a command in one bash session that stays open between calls.",
        input_schema=schema("command", command=STRING),
        operation=_bash,
        keeps="all",
        failing=_failing,
    ),
    Binding(
        id="terminal/bash-c",
        names=(),
        domain="terminal",
        description="Runs a command in a new bash.",
        input_schema=schema("command", command=STRING),
        operation=_bash_c,
        failing=_failing,
    ),
)
