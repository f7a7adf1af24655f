"""LangChain's tools: `ShellTool`, `ShellToolMiddleware` and the file management toolkit.

The file tools are Python's own file functions, and their errors as text. A relative path starts in the
machine's working directory: they know no shell.

Sources: langchain-community, `tools/shell` and `tools/file_management`; langchain 1.4,
`agents/middleware/shell_tool.py`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from fnmatch import filter as matching
from pathlib import PurePosixPath
from typing import Any

from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.toolkits._answers import (
    error_answer,
    text_answer,
)
from agentworld_sim.engines.shell.toolkits._dash import in_dash_words
from agentworld_sim.engines.shell.toolkits._langchain_session import (
    in_session,
    without_details,
)
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import normal_path, parent_of
from agentworld_sim.types.turns import Observation


def terminal(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    commands = arguments["commands"]
    script = commands if isinstance(commands, str) else ";".join(commands)
    run = turn.run(script, merge=True)
    return text_answer(in_dash_words(run.stdout, script))


def terminal_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return text_answer(f"{error}\n")


def session_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    lines = "\n".join(f"[stderr] {line}" for line in error.splitlines())
    return error_answer(f"{lines}\n\nExit code: 1")


def file_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    # These tools never mark an error as one.
    return text_answer(error)


shell = without_details
shell_session = in_session


class _Path:
    """A path as given, as Python would show it, and where it lies."""

    def __init__(self, turn: ShellTurn, given: str) -> None:
        self.given = given
        self.shown = str(PurePosixPath(given))
        base = "" if given.startswith("/") else turn.live.machine.workdir
        self.real = normal_path(f"{base}/{given}")


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _text_or_error(action: Callable[[], str], *paths: _Path) -> Observation:
    """What `action` says, or the error it raises: these tools never mark an error as one.

    Args:
        action: What is done.
        paths: Those that it names, which errors show as they were given.
    """
    try:
        return text_answer(action())
    except OSError as error:
        shown = next((p.shown for p in paths if p.real == error.filename), error.filename)
        return text_answer(f"Error: {_error(error.errno or errno.EIO, str(shown))}")
    except ValueError as error:
        return text_answer(f"Error: {error}")


def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`ReadFileTool`."""
    path, files = _Path(turn, arguments["file_path"]), turn.live.files
    if not files.exists(path.real):
        return text_answer(f"Error: no such file or directory: {path.given}")

    def action() -> str:
        if files.stat(path.real).kind == "directory":
            raise _error(errno.EISDIR, path.shown)
        text = files.read(path.real).decode()
        return text.replace("\r\n", "\n").replace("\r", "\n")

    return _text_or_error(action)


def write_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`WriteFileTool`."""
    path, files = _Path(turn, arguments["file_path"]), turn.live.files

    def action() -> str:
        _make_parents(files, path)
        if files.exists(path.real) and files.stat(path.real).kind == "directory":
            raise _error(errno.EISDIR, path.shown)
        change = files.append if arguments.get("append") else files.write
        change(path.real, arguments["text"].encode())
        turn.live.note_file_change()
        return f"File written successfully to {path.given}."

    return _text_or_error(action)


def _make_parents(files: LiveFiles, path: _Path) -> None:
    """`Path.mkdir(parents=True, exist_ok=True)`, whose errors name the first part that is in the way."""
    parent = parent_of(path.real)
    try:
        files.mkdir(parent, parents=True)
    except OSError:
        blocked = parent
        while not files.exists(blocked):
            blocked = parent_of(blocked)
        above = str(PurePosixPath(path.shown).parent)
        number = errno.EEXIST if blocked == parent else errno.ENOTDIR
        raise _error(number, above) from None
    if files.stat(parent).kind != "directory":
        raise _error(errno.EEXIST, str(PurePosixPath(path.shown).parent))


def list_directory(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`ListDirectoryTool`."""
    path = _Path(turn, arguments.get("dir_path", "."))

    def action() -> str:
        names = turn.live.files.listdir(path.real)
        return "\n".join(names) or f"No files found in directory {path.given}"

    return _text_or_error(action, path)


def copy_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`CopyFileTool`: `shutil.copy2`, links copied as links."""
    source = _Path(turn, arguments["source_path"])
    target = _Path(turn, arguments["destination_path"])

    def action() -> str:
        _copy(turn.live.files, source, target)
        turn.live.note_file_change()
        return f"File copied successfully from {source.given} to {target.given}."

    return _text_or_error(action)


def _copy(files: LiveFiles, source: _Path, target: _Path) -> None:
    real, shown = target.real, target.shown
    if files.exists(real) and files.stat(real).kind == "directory":
        name = source.shown.rpartition("/")[2]
        real, shown = f"{real.rstrip('/')}/{name}", f"{shown.rstrip('/')}/{name}"
    _check_ends(files, source, real, shown)
    info = files.lstat(source.real)
    if info.kind == "symlink":
        files.symlink(files.readlink(source.real), real)
        return
    files.write(real, files.read(source.real), mode=info.mode)
    files.set_mtime(real, info.mtime_us)


def _check_ends(files: LiveFiles, source: _Path, real: str, shown: str) -> None:
    """The errors of `shutil.copyfile`, in its order."""
    if real == source.real:
        raise ValueError(f"{source.shown!r} and {shown!r} are the same file")
    try:
        info = files.lstat(source.real)
    except OSError as error:
        raise _error(error.errno or errno.EIO, source.shown) from None
    if info.kind == "directory":
        raise _error(errno.EISDIR, source.shown)
    if not files.exists(parent_of(real)):
        raise _error(errno.ENOENT, shown)
    if files.stat(parent_of(real)).kind != "directory":
        raise _error(errno.ENOTDIR, shown)


def move_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`MoveFileTool`: `shutil.move`."""
    source = _Path(turn, arguments["source_path"])
    target = _Path(turn, arguments["destination_path"])
    files = turn.live.files
    if not files.exists(source.real):
        return text_answer(f"Error: no such file or directory {source.given}")

    def action() -> str:
        _move(files, source, target)
        turn.live.note_file_change()
        return f"File moved successfully from {source.given} to {target.given}."

    return _text_or_error(action)


def _move(files: LiveFiles, source: _Path, target: _Path) -> None:
    real, shown = target.real, target.shown
    directory = files.lstat(source.real).kind == "directory"
    if files.exists(real) and files.stat(real).kind == "directory":
        if real == source.real:
            return
        name = source.shown.rstrip("/").rpartition("/")[2]
        real, shown = f"{real.rstrip('/')}/{name}", f"{shown.rstrip('/')}/{name}"
        if files.exists(real):
            raise ValueError(f"Destination path '{shown}' already exists")
    if directory and (real + "/").startswith(source.real + "/"):
        raise ValueError(f"Cannot move a directory '{source.shown}' into itself '{target.shown}'.")
    if not files.exists(parent_of(real)):
        raise _error(errno.ENOENT, shown)
    if files.stat(parent_of(real)).kind != "directory" or (directory and files.exists(real)):
        raise _error(errno.ENOTDIR, shown)
    files.rename(source.real, real)


def file_delete(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`DeleteFileTool`: `os.remove`."""
    path, files = _Path(turn, arguments["file_path"]), turn.live.files
    if not files.exists(path.real):
        return text_answer(f"Error: no such file or directory: {path.given}")

    def action() -> str:
        if files.lstat(path.real).kind == "directory":
            raise _error(errno.EISDIR, path.shown)
        files.remove(path.real)
        turn.live.note_file_change()
        return f"File deleted successfully: {path.given}."

    return _text_or_error(action)


def file_search(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`FileSearchTool`: `os.walk`, a directory's own files before those below."""
    path, pattern = _Path(turn, arguments.get("dir_path", ".")), arguments["pattern"]
    found = _search(turn.live.files, path.real, "", pattern)
    return text_answer(
        "\n".join(found) or f"No files found for pattern {pattern} in directory {path.given}"
    )


def _search(files: LiveFiles, real: str, prefix: str, pattern: str) -> list[str]:
    try:
        names = files.listdir(real)
    except OSError:
        return []
    folders: list[str] = []
    others: list[str] = []
    for name in names:
        inner = f"{real.rstrip('/')}/{name}"
        is_folder = files.exists(inner) and files.stat(inner).kind == "directory"
        (folders if is_folder else others).append(name)
    found = [prefix + name for name in matching(others, pattern)]
    for name in folders:
        inner = f"{real.rstrip('/')}/{name}"
        if files.lstat(inner).kind == "directory":
            found += _search(files, inner, f"{prefix}{name}/", pattern)
    return found
