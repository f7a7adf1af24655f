"""The file and shell tools of deepagents, as they answer on a sandbox.

Source: deepagents 0.7, `middleware/filesystem.py` over `backends/sandbox.py`. Files are read, written
and searched on the machine itself; every command runs in a new shell in the working directory.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.toolkits import (
    _deepagents_texts as texts,
    deepagents_backend as backend,
)
from agentworld_sim.engines.shell.toolkits._answers import error_answer, failure_text, text_answer
from agentworld_sim.engines.shell.turn import Operation, ShellTurn
from agentworld_sim.types.turns import Observation

MAX_EXECUTE_SECONDS = 3600
MAX_GREP_MATCHES = 1000

_GLOB_CUT = (
    "Note: the search stopped early because it hit its time or size limit. The paths above are valid"
    " but incomplete. Narrow the search (a more specific pattern or a narrower path) to see the rest."
)


class _PathRefused(ValueError):
    """The path is not one the tools take."""


def _normal_path(path: str) -> str:
    """`path`, normalised and absolute."""
    if ".." in path.replace("\\", "/").split("/") or path.startswith("~"):
        raise _PathRefused(f"Path traversal not allowed: {path}")
    if re.match(r"^[a-zA-Z]:", path):
        raise _PathRefused(
            f"Windows absolute paths are not supported: {path}. Please use virtual paths starting"
            " with / (e.g., /workspace/file.txt)"
        )
    normal = os.path.normpath(path).replace("\\", "/")
    return normal if normal.startswith("/") else f"/{normal}"


def _with_valid_path(argument: str, operation: Operation, **usual: Any) -> Operation:
    """An operation of the backend as the tool of an agent, which gives its text only.

    `argument` names the path, and `usual` has the arguments where the call gives none.
    """

    def run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
        asked = {**usual, **{n: value for n, value in arguments.items() if value or n not in usual}}
        try:
            if asked.get(argument) is not None:
                asked[argument] = _normal_path(asked[argument])
        except _PathRefused as error:
            return error_answer(f"Error: {error}")
        done = operation(turn, asked)
        return error_answer(done.text) if done.is_error else text_answer(done.text)

    return run


def execute(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    timeout: int | None = arguments.get("timeout")
    if timeout is not None and timeout < 0:
        return error_answer(f"Error: timeout must be non-negative, got {timeout}.")
    if timeout is not None and timeout > MAX_EXECUTE_SECONDS:
        return error_answer(
            f"Error: timeout {timeout}s exceeds maximum allowed ({MAX_EXECUTE_SECONDS}s)."
        )
    if timeout == 0:
        return error_answer("Error: Invalid parameter. timeout must be positive, got 0")
    return text_answer(backend.execute(turn, arguments).text)


execute_failing = failure_text("{error}\n\n[Command failed with exit code 1]")


def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    page = {"limit": 100, **arguments}
    text = _with_valid_path("file_path", backend.read_file)(turn, page)
    if text.is_error:
        return text
    path = _normal_path(arguments["file_path"])
    data, offset = turn.live.files.read(path), arguments.get("offset", 0)
    content = texts.format_file(path, data, offset, page["limit"])
    return text if isinstance(content, str) else Observation(text="", structured=[content])


def _glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    found = backend.glob(turn, arguments)
    cut = not found.is_error and found.structured["truncated"]
    return text_answer(f"{found.text}\n\n{_GLOB_CUT}") if cut else found


glob = _with_valid_path("path", _glob, path="/")
grep = _with_valid_path(
    "path", backend.grep, output_mode="files_with_matches", max_count=MAX_GREP_MATCHES
)
ls = _with_valid_path("path", backend.ls)
write_file = _with_valid_path("file_path", backend.write_file)
edit_file = _with_valid_path("file_path", backend.edit_file)
delete = _with_valid_path("file_path", backend.delete)
