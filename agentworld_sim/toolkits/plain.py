"""Tools of no maker: a terminal that takes keystrokes, bash that takes a command, a shell with its streams apart,
which is for the command line and for programs, and what many agents have beside their shell."""

from __future__ import annotations

from agentworld_sim.toolkits.known_tool import (
    STRING,
    STRINGS,
    KnownTool,
    ToolkitMaker,
    arguments,
    objects,
)

_terminal = ToolkitMaker(
    toolkit="terminal",
    domain="terminal",
    operations="agentworld_sim.engines.shell.toolkits.plain",
    failing="failing",
)
_shell = ToolkitMaker(
    toolkit="shell",
    domain="terminal",
    operations="agentworld_sim.engines.shell.toolkits.plain",
    failing="streams_failing",
)

_common = ToolkitMaker(
    toolkit="common",
    domain="mcp",
    operations="agentworld_sim.engines.toolkits.time",
    engine="toolkits",
    # Other tools have these names, too: `usual_names.py` says when one of them is meant.
    for_agents=False,
)

_answer = ToolkitMaker(
    toolkit="answer",
    domain="mcp",
    operations="agentworld_sim.engines.toolkits.answer",
    engine="toolkits",
)

_KEYSTROKES = objects("keystrokes duration?:number")
_COMMAND = {**STRING, "description": "Any bash text."}
_WORDS = {**STRINGS, "description": "`$0`, `$1`, …"}
_STDIN = {**STRING, "description": "Standard input; one character per byte (latin-1)."}

TERMINAL_TOOLS: tuple[KnownTool, ...] = (
    _terminal(
        "keystrokes",
        "Types into a terminal and shows its screen. Each entry is typed, then the terminal is"
        " given `duration` seconds; a command runs when its newline is typed.",
        arguments("keystrokes", keystrokes=_KEYSTROKES),
        failing="screen_failing",
        keeps="all",
    ),
    _terminal(
        "bash",
        "Runs a command in one bash session that stays open between calls.",
        "command",
        keeps="all",
    ),
    _terminal("bash-c", "Runs a command in a new bash.", "command", names=(), operation="bash_c"),
)

SHELL_TOOLS: tuple[KnownTool, ...] = (
    _shell(
        "run",
        "Runs a script as `bash -c` does: a fresh shell, streams apart.",
        arguments("command arguments? stdin?", command=_COMMAND, arguments=_WORDS, stdin=_STDIN),
        names=("shell_run",),
        operation="run_script",
    ),
    _shell(
        "session",
        "Runs a script in one lasting shell, streams apart.",
        arguments("command", command=_COMMAND),
        names=("shell_session",),
        operation="run_in_session",
        keeps="all",
    ),
)

COMMON_TOOLS: tuple[KnownTool, ...] = (
    _common("now", "Tells the date and the time.", ""),
    _common("today", "Tells the date.", ""),
    _common("think", "Notes a thought.", "thought"),
)

ANSWER_TOOLS: tuple[KnownTool, ...] = (
    _answer("submit_answer", "Submits the final answer. The last one counts.", "answer"),
)
