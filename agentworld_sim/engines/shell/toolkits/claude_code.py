"""The tools of Claude Code.

`Bash` keeps its working directory, and nothing else; the file tools keep what the agent has read. A
command in the background runs to its end at once, and its output lies in the file that is named.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.live_shell import ShellRun
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.toolkits import _claude_files as files
from agentworld_sim.engines.shell.toolkits import _claude_search as searching
from agentworld_sim.engines.shell.toolkits._answers import (
    failed,
    said,
)
from agentworld_sim.engines.shell.toolkits._claude_state import make_parents
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

BASH_MS = 120_000
MAX_BASH_MS = 600_000
OUTPUT_CHARS = 30_000
KILLED = 143

_ID_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TODOS = (
    "Todos have been modified successfully. Ensure that you continue to use the todo list to track"
    " your progress. Please proceed with the current tasks if applicable"
)
_ONE_IS_NO_ERROR = frozenset({"grep", "rg", "egrep", "fgrep", "find", "diff", "test", "["})
"""Commands whose exit code 1 is an answer."""


def _bash(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    command = str(arguments["command"])
    if arguments.get("run_in_background"):
        return _in_background(turn, command)
    milliseconds = min(arguments.get("timeout") or BASH_MS, MAX_BASH_MS)
    run = turn.run(command, keep="cwd", merge=True, timeout_s=milliseconds / 1000)
    output = _cut(re.sub(r"\A(?:[ \t]*\n)+", "", run.stdout).rstrip())
    parts = [output, _back_in_project(turn)]
    if run.ending == "timeout":
        parts.insert(0, f"Exit code {KILLED}\nCommand timed out after {_duration(milliseconds)}")
        return failed("\n".join(filter(None, parts)))
    if run.exit_code and not _is_answer(command, run):
        parts.insert(0, f"Exit code {run.exit_code}")
        return failed("\n".join(filter(None, parts)))
    return said("\n".join(filter(None, parts)) or "(Bash completed with no output)")


def bash_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return failed(f"Exit code 1\n{error}")


def _back_in_project(turn: ShellTurn) -> str:
    """A shell that left the project is brought back, and the agent is told so."""
    project = turn.live.machine.workdir
    if (turn.cwd + "/").startswith(project.rstrip("/") + "/"):
        return ""
    turn.sessions[turn.shell] = ShellSession(cwd=project)
    turn.changed.add(turn.shell)
    return f"Shell cwd was reset to {project}"


def _is_answer(command: str, run: ShellRun) -> bool:
    last = re.split(r"&&|\|\||[;|\n]", command.strip())[-1].split()
    return run.exit_code == 1 and bool(last) and last[0] in _ONE_IS_NO_ERROR


def _cut(output: str) -> str:
    if len(output) <= OUTPUT_CHARS:
        return output
    hidden = output.count("\n", OUTPUT_CHARS) + 1
    return f"{output[:OUTPUT_CHARS]}\n\n... [{hidden} lines truncated] ..."


def _duration(milliseconds: float) -> str:
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    return f"{minutes}m {seconds}s" if minutes else f"{seconds}s"


def _in_background(turn: ShellTurn, command: str) -> Observation:
    name = "b" + "".join(turn.live.random.choice(_ID_LETTERS) for _ in range(8))
    folder = turn.live.machine.workdir.replace("/", "-")
    path = f"/tmp/claude-0/{folder}/tasks/{name}.output"
    run = turn.run(command, merge=True)
    make_parents(turn, path)
    turn.live.files.write(path, run.stdout.encode("utf-8", "surrogateescape"))
    turn.live.note_file_change()
    return said(
        f"Command running in background with ID: {name}. Output is being written to: {path}. You"
        " will be notified when it completes. To check interim output, use Read on that file path."
    )


def _todo_write(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return said(_TODOS)


Bash = _bash
Read = files.read
Write = files.write
Edit = files.edit
Glob = searching.glob
Grep = searching.grep
TodoWrite = _todo_write
