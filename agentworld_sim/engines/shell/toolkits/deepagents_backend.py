"""What a deepagents sandbox does, as the backend behind deepagents' tools is asked for it.

The tools of `deepagents` give texts; a backend gives results, from which deepagents makes the same
texts. An answer here has both: the text for people and for the history, the result as structured
content. A result with `error` is what the machine would say, never a failure of ours.

Source: deepagents 0.7, `backends/protocol.py` and `backends/sandbox.py`.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.toolkits import _deepagents_grep as searching
from agentworld_sim.engines.shell.toolkits import _deepagents_read as reading
from agentworld_sim.engines.shell.toolkits._answers import (
    absolute,
)
from agentworld_sim.engines.shell.toolkits.deepagents import Refused, edited, executed, matched
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import parent_of
from agentworld_sim.types.turns import Observation

Result = Mapping[str, Any]


def _answer(text: str, **result: Any) -> Observation:
    return Observation(text=text, structured=result)


def _error(text: str, *, said: str | None = None) -> Observation:
    """A result that is an error.

    Args:
        text: The error as the backend gives it.
        said: What the tool makes of it; `Error: …` by default.
    """
    return Observation(text=said or f"Error: {text}", structured={"error": text}, is_error=True)


def execute(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    output, exit_code = executed(turn, arguments["command"], arguments.get("timeout"))
    word = "failed" if exit_code else "succeeded"
    text = f"{output}\n[Command {word} with exit code {exit_code}]"
    return _answer(text, output=output, exit_code=exit_code)


def ls(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = arguments["path"], turn.live.files
    real = absolute(turn, path)
    try:
        names = files.listdir(real)
    except NotADirectoryError:
        return _error(f"Path '{path}': not_a_directory")
    except OSError:
        return _error(f"Path '{path}': path_not_found")
    paths = [f"{path.rstrip('/')}/{name}" for name in names]
    kinds = [files.lstat(f"{real.rstrip('/')}/{name}").kind for name in names]
    entries = [
        {"path": whole, "is_dir": kind == "directory"}
        for whole, kind in zip(paths, kinds, strict=True)
    ]
    return _answer(searching.list_text(paths), entries=entries)


def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = arguments["file_path"], turn.live.files
    real = absolute(turn, path)
    try:
        if files.stat(real).kind != "file":
            return _error(f"File '{path}': not_a_file")
        data = files.read(real)
        offset, limit = arguments.get("offset", 0), arguments.get("limit", 2000)
        result = reading.result(path, data, offset, limit)
        shown = reading.shown(path, data, offset, limit)
    except OSError:
        return _error(f"File '{path}': file_not_found")
    except reading.ReadRefused as refused:
        return _error(f"File '{path}': {refused}")
    return _answer(shown if isinstance(shown, str) else f"[{shown['type']}: {path}]", **result)


def write_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path = arguments["file_path"]
    data = arguments["content"].encode("utf-8", "surrogateescape")
    return _put(turn, path, data) or _answer(f"Updated file {path}", path=path)


def upload_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, content = arguments["file_path"], arguments["content"]
    binary = arguments.get("encoding") == "base64"
    refused = _put(turn, path, base64.b64decode(content) if binary else content.encode())
    return refused or _answer(f"Updated file {path}", path=path)


def _put(turn: ShellTurn, path: str, data: bytes) -> Observation | None:
    """Writes a file and the directories above it."""
    files, real = turn.live.files, absolute(turn, path)
    code = ""
    try:
        files.mkdir(parent_of(real), parents=True)
        if files.exists(real) and files.stat(real).kind == "directory":
            code = "is_directory"
        else:
            files.write(real, data)
    except OSError as error:
        code = error.strerror or type(error).__name__
    if code:
        return _error(code, said=f"Failed to write file '{path}': {code}")
    turn.live.note_file_change()
    return None


def edit_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path = arguments["file_path"]
    try:
        count = edited(turn, absolute(turn, path), path, arguments)
    except Refused as refused:
        return _error(str(refused), said=str(refused))
    text = f"Successfully replaced {count} instance(s) of the string in '{path}'"
    return _answer(text, path=path, occurrences=count)


def delete(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = arguments["file_path"], turn.live.files
    real = absolute(turn, path)
    try:
        files.lstat(real)
    except OSError:
        return _failed(f"Error: '{path}' not found")
    if real == "/":
        return _failed(
            "Error deleting file '/': rm: it is dangerous to operate recursively on '/'\n"
            "rm: use --no-preserve-root to override this failsafe"
        )
    try:
        files.remove(real, recursive=True)
    except OSError as error:
        return _failed(
            f"Error deleting file '{path}': rm: cannot remove '{path}': {error.strerror}"
        )
    turn.live.note_file_change()
    return _answer(f"Deleted {path}", path=path)


def _failed(text: str) -> Observation:
    return _error(text, said=text)


def glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    root = arguments.get("path") or "/"
    try:
        found, cut = matched(
            turn, root if root.startswith("/") else f"/{root}", arguments["pattern"]
        )
    except Refused as refused:
        return _error(str(refused))
    matches = [{"path": path, "is_dir": False} for path in found]
    return _answer(searching.list_text(found), matches=matches, truncated=cut)


def grep(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path: str | None = arguments.get("path")
    most: int | None = arguments.get("max_count")
    pattern, workdir = arguments["pattern"], turn.live.machine.workdir
    try:
        found = searching.grep(
            turn.live.files,
            workdir,
            pattern,
            path,
            arguments.get("glob"),
            sys.maxsize if most is None else most,
        )
    except ValueError as refused:
        return _error(f"Path '{path or '.'}': {refused}")
    matches = [
        {"path": where, "line": number, "text": text}
        for where, lines in found.matches.items()
        for number, text in lines
    ]
    text = searching.rendered(found, "content", pattern)
    return _answer(text, matches=matches, truncated=found.cut)
