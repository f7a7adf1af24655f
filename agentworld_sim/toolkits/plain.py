"""Shells of no maker: a terminal that takes keystrokes, bash that takes a command, and a shell with its
streams apart, which is for the command line and for programs."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import KnownTool
from agentworld_sim.toolkits.schemas import NUMBER, STRING, schema

_OPERATIONS = "agentworld_sim.engines.shell.toolkits.terminal"

_SHELL = "agentworld_sim.engines.shell.toolkits.plain"

_KEYSTROKES = {
    "type": "array",
    "items": schema("keystrokes", keystrokes=STRING, duration=NUMBER),
}


_COMMAND = {"type": "string", "description": "Any bash text."}


TERMINAL_TOOLS: tuple[KnownTool, ...] = (
    KnownTool(
        id="terminal/keystrokes",
        names=("keystrokes",),
        domain="terminal",
        description=(
            "Types into a terminal and shows its screen. Each entry is typed, then the terminal is"
            " given `duration` seconds; a command runs when its newline is typed."
        ),
        input_schema=schema("keystrokes", keystrokes=_KEYSTROKES),
        engine="shell",
        operation=f"{_OPERATIONS}:keystrokes",
        keeps="all",
        failing=f"{_OPERATIONS}:screen_failing",
    ),
    KnownTool(
        id="terminal/bash",
        names=("bash",),
        domain="terminal",
        description="Runs a command in one bash session that stays open between calls.",
        input_schema=schema("command", command=STRING),
        engine="shell",
        operation=f"{_OPERATIONS}:bash",
        keeps="all",
        failing=f"{_OPERATIONS}:failing",
    ),
    KnownTool(
        id="terminal/bash-c",
        names=(),
        domain="terminal",
        description="Runs a command in a new bash.",
        input_schema=schema("command", command=STRING),
        engine="shell",
        operation=f"{_OPERATIONS}:bash_c",
        failing=f"{_OPERATIONS}:failing",
    ),
)

SHELL_TOOLS: tuple[KnownTool, ...] = (
    KnownTool(
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
        engine="shell",
        operation=f"{_SHELL}:run_script",
        failing=f"{_SHELL}:failing",
    ),
    KnownTool(
        id="shell/session",
        names=("shell_session",),
        domain="terminal",
        description="Runs a script in one lasting shell, streams apart.",
        input_schema={
            "type": "object",
            "properties": {"command": _COMMAND},
            "required": ["command"],
        },
        engine="shell",
        operation=f"{_SHELL}:run_in_session",
        keeps="all",
        failing=f"{_SHELL}:failing",
    ),
)
