"""What Claude Code's file tools remember, and how they speak of paths."""

from __future__ import annotations

import json

from agentworld_sim.engines.shell.toolkits._answers import absolute_path, error_answer
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import blob_id, parent_of
from agentworld_sim.types.turns import Observation

SHELL = "claude-code"
"""All its tools share one shell: a relative path starts where the last command ended."""

_READ = "claude-code/read"


def tool_use_error(text: str) -> Observation:
    """The call was not carried out: its arguments do not fit the state of things."""
    return error_answer(f"<tool_use_error>{text}</tool_use_error>")


def remember(turn: ShellTurn, path: str, data: bytes) -> None:
    """Notes that the agent knows this content of the file."""
    known = _read_contents(turn)
    known[path] = blob_id(data)
    turn.raw[_READ] = json.dumps(known, sort_keys=True).encode()
    turn.changed.add(_READ)


def refusal_if_unread(turn: ShellTurn, path: str, data: bytes) -> Observation | None:
    """Why the file may not be changed, or `None`: the agent has read what is there now."""
    known = _read_contents(turn).get(path)
    if known is None:
        return tool_use_error("File has not been read yet. Read it first before writing to it.")
    if known != blob_id(data):
        return tool_use_error(
            "File has been modified since read, either by the user or by a linter. Read it again"
            " before attempting to write it."
        )
    return None


def _read_contents(turn: ShellTurn) -> dict[str, str]:
    return json.loads(turn.raw.get(_READ, b"{}"))


def cwd_note(turn: ShellTurn) -> str:
    """The sentence that follows where something does not exist."""
    return f"Note: your current working directory is {turn.cwd}."


def missing_file_text(turn: ShellTurn, path: str) -> str:
    """What is said of a file that does not exist; a file of the same name may be suggested."""
    return f"File does not exist. {cwd_note(turn)}{_alike(turn, path)}"


def _alike(turn: ShellTurn, path: str) -> str:
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    try:
        names = turn.live.files.listdir(folder or "/")
    except OSError:
        return ""
    for other in names:
        if other != name and (other.rpartition(".")[0] or other) == stem:
            return f" Did you mean {other}?"
    return ""


def display_path(turn: ShellTurn, path: str) -> str:
    """A path in a list of results: relative to the shell's directory where it lies below it."""
    below = turn.cwd.rstrip("/") + "/"
    return path.removeprefix(below)


def resolve_path(turn: ShellTurn, path: str) -> str:
    """The absolute path; `~` is the home directory."""
    if path == "~" or path.startswith("~/"):
        path = turn.live.machine.home + path[1:]
    return absolute_path(turn, path)


def make_parents(turn: ShellTurn, path: str) -> None:
    """Creates the directories above `path`."""
    turn.live.files.mkdir(parent_of(path), parents=True)
