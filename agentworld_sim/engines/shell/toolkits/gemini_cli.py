"""The tools of Gemini CLI and of Qwen Code, which grew from it.

Every command runs in a new bash; nothing is kept. Gemini CLI gives a command all the time it wants;
Qwen Code has a `timeout`, in milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from agentworld_sim.engines.shell.live_shell import ShellRun
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.toolkits import _gemini_files as files
from agentworld_sim.engines.shell.toolkits import _gemini_search as searching
from agentworld_sim.engines.shell.toolkits._answers import (
    failed,
    said,
)
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

QWEN_MS = 120_000


def _shell(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return _run(turn, arguments, arguments.get("timeout"))


def _qwen_shell(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return _run(turn, arguments, arguments.get("timeout") or QWEN_MS)


def _run(turn: ShellTurn, arguments: Mapping[str, Any], milliseconds: float | None) -> Observation:
    command, directory = str(arguments["command"]), arguments.get("directory")
    if refusal := _refusal(turn, command, directory):
        return failed(refusal)
    background = bool(arguments.get("is_background"))
    limit = None if background or milliseconds is None else round(milliseconds * 1000)
    session = ShellSession(cwd=directory or files.workspace(turn))
    run = turn.live.run(command, session, keep="nothing", timeout_us=limit)
    output = _output(run)
    if run.ending != "finished":
        return said(_stopped(output, milliseconds if limit else None))
    return _report(arguments, output, run.exit_code, turn.live.random)


def failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return _report(arguments, error, 1, Random(seed))


def _report(
    arguments: Mapping[str, Any], output: str, exit_code: int, random: Random
) -> Observation:
    command, directory = str(arguments["command"]), arguments.get("directory")
    group = random.randrange(1_000, 30_000)
    background = arguments.get("is_background") or command.rstrip().endswith("&")
    return said(
        "\n".join(
            (
                f"Command: {command}",
                f"Directory: {directory or '(root)'}",
                f"Output: {output or '(empty)'}",
                "Error: (none)",
                f"Exit Code: {exit_code}",
                "Signal: (none)",
                f"Background PIDs: {group + 2 if background else '(none)'}",
                f"Process Group PGID: {group}",
            )
        )
    )


def _refusal(turn: ShellTurn, command: str, directory: str | None) -> str:
    if not command.strip():
        return "Command cannot be empty."
    if directory and not directory.startswith("/"):
        return "Directory must be an absolute path."
    if directory and files.outside(turn, directory):
        return f"Directory '{directory}' is not within any of the registered workspace directories."
    return ""


def _output(run: ShellRun) -> str:
    gap = "" if not run.stdout or run.stdout.endswith("\n") else "\n"
    text = run.stdout + (gap + run.stderr if run.stderr else "")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).strip()


def _stopped(output: str, milliseconds: float | None) -> str:
    if milliseconds is None:
        text, when = "Command was cancelled by user before it could complete.", "was cancelled"
    else:
        text = f"Command timed out after {milliseconds:g}ms before it could complete."
        when = "timed out"
    if output:
        return f"{text} Below is the output before it {when}:\n{output}"
    return f"{text} There was no output before it {when}."


run_shell_command = _shell
read_file = files.read
write_file = files.write
replace = files.replace
glob = searching.glob
search_file_content = searching.search_file_content
list_directory = searching.list_directory
qwen_run_shell_command = _qwen_shell
edit = files.edit
todo_write = files.todo_write
