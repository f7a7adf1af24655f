"""LangChain's tools: `ShellTool`, `ShellToolMiddleware` and the file management toolkit.

The file tools are Python's own file functions, and their errors as text. A relative path starts in the
machine's working directory: they know no shell.

Sources: langchain-community, `tools/shell` and `tools/file_management`; langchain 1.4,
`agents/middleware/shell_tool.py`.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Mapping
from fnmatch import filter as matching
from pathlib import PurePosixPath
from typing import Any

from agentworld_sim.engines.shell.live_files import LiveFiles
from agentworld_sim.engines.shell.programs import DATA
from agentworld_sim.engines.shell.toolkits._answers import error_answer, failure_text, text_answer
from agentworld_sim.engines.shell.toolkits._langchain_session import in_session, without_details
from agentworld_sim.engines.shell.turn import Operation, ShellTurn
from agentworld_sim.types.files import normal_path, parent_of
from agentworld_sim.types.turns import Observation


def terminal(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    commands = arguments["commands"]
    script = commands if isinstance(commands, str) else ";".join(commands)
    run = turn.run(script, merge=True)
    return text_answer(in_dash_words(run.stdout, script))


terminal_failing = failure_text("{error}\n")


def session_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    lines = "\n".join(f"[stderr] {line}" for line in error.splitlines())
    return error_answer(f"{lines}\n\nExit code: 1")


# These tools never mark an error as one.
file_failing = failure_text("{error}")


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


def _file_tool(action: Callable[[ShellTurn, Mapping[str, Any]], str]) -> Operation:
    """What `action` says, or the error it raises, of a path as it was given: none is marked as one."""

    def run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            return text_answer(action(turn, arguments))
        except OSError as error:
            paths = [_Path(turn, arguments[name]) for name in arguments if name.endswith("_path")]
            name = next((p.shown for p in paths if p.real == error.filename), str(error.filename))
            return text_answer(f"Error: {_error(error.errno or errno.EIO, name)}")
        except ValueError as error:
            return text_answer(f"Error: {error}")

    return run


@_file_tool
def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`ReadFileTool`."""
    path, files = _Path(turn, arguments["file_path"]), turn.live.files
    if not files.exists(path.real):
        return f"Error: no such file or directory: {path.given}"
    return files.read(path.real).decode().replace("\r\n", "\n").replace("\r", "\n")


@_file_tool
def write_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`WriteFileTool`."""
    path, files = _Path(turn, arguments["file_path"]), turn.live.files
    _make_parents(files, path)
    change = files.append if arguments.get("append") else files.write
    change(path.real, arguments["text"].encode())
    return f"File written successfully to {path.given}."


def _make_parents(files: LiveFiles, path: _Path) -> None:
    """`Path.mkdir(parents=True, exist_ok=True)`, whose errors name the first part that is in the way."""
    blocked = parent = parent_of(path.real)
    while not files.exists(blocked):
        blocked = parent_of(blocked)
    if files.stat(blocked).kind != "directory":
        number = errno.EEXIST if blocked == parent else errno.ENOTDIR
        raise _error(number, str(PurePosixPath(path.shown).parent))
    files.mkdir(parent, parents=True)


@_file_tool
def list_directory(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`ListDirectoryTool`."""
    path = _Path(turn, arguments.get("dir_path", "."))
    return (
        "\n".join(turn.live.files.listdir(path.real)) or f"No files found in directory {path.given}"
    )


@_file_tool
def copy_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`CopyFileTool`: `shutil.copy2`, links copied as links."""
    files, source, target = turn.live.files, *_ends(turn, arguments)
    real, shown = _inside(files, source, target)
    if real == source.real:
        raise ValueError(f"{source.shown!r} and {shown!r} are the same file")
    info = files.lstat(source.real)
    if info.kind == "directory":
        raise _error(errno.EISDIR, source.shown)
    _check_parent(files, real, shown)
    if info.kind == "symlink":
        files.symlink(files.readlink(source.real), real)
    else:
        files.write(real, files.read(source.real), mode=info.mode)
        files.set_mtime(real, info.mtime_us)
    return f"File copied successfully from {source.given} to {target.given}."


def _ends(turn: ShellTurn, arguments: Mapping[str, Any]) -> tuple[_Path, _Path]:
    return _Path(turn, arguments["source_path"]), _Path(turn, arguments["destination_path"])


def _inside(files: LiveFiles, source: _Path, target: _Path) -> tuple[str, str]:
    """Where the source would lie: in the target, if that is a directory. And how that is shown."""
    if not files.exists(target.real) or files.stat(target.real).kind != "directory":
        return target.real, target.shown
    name = source.shown.rstrip("/").rpartition("/")[2]
    return f"{target.real.rstrip('/')}/{name}", f"{target.shown.rstrip('/')}/{name}"


def _check_parent(files: LiveFiles, real: str, shown: str) -> None:
    if not files.exists(parent_of(real)):
        raise _error(errno.ENOENT, shown)
    if files.stat(parent_of(real)).kind != "directory":
        raise _error(errno.ENOTDIR, shown)


@_file_tool
def move_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`MoveFileTool`: `shutil.move`."""
    files, source, target = turn.live.files, *_ends(turn, arguments)
    if not files.exists(source.real):
        return f"Error: no such file or directory {source.given}"
    if source.real != target.real or files.stat(source.real).kind != "directory":
        _move(files, source, target)
    return f"File moved successfully from {source.given} to {target.given}."


def _move(files: LiveFiles, source: _Path, target: _Path) -> None:
    real, shown = _inside(files, source, target)
    directory = files.lstat(source.real).kind == "directory"
    if real != target.real and files.exists(real):
        raise ValueError(f"Destination path '{shown}' already exists")
    if directory and (real + "/").startswith(source.real + "/"):
        raise ValueError(f"Cannot move a directory '{source.shown}' into itself '{target.shown}'.")
    _check_parent(files, real, shown)
    if directory and files.exists(real):
        raise _error(errno.ENOTDIR, shown)
    files.rename(source.real, real)


@_file_tool
def file_delete(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`DeleteFileTool`: `os.remove`."""
    path, files = _Path(turn, arguments["file_path"]), turn.live.files
    if not files.exists(path.real):
        return f"Error: no such file or directory: {path.given}"
    if files.lstat(path.real).kind == "directory":
        raise _error(errno.EISDIR, path.shown)
    files.remove(path.real)
    return f"File deleted successfully: {path.given}."


@_file_tool
def file_search(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`FileSearchTool`: `os.walk`, a directory's own files before those below."""
    path, pattern = _Path(turn, arguments.get("dir_path", ".")), arguments["pattern"]
    found = _search(turn.live.files, path.real, "", pattern)
    return "\n".join(found) or f"No files found for pattern {pattern} in directory {path.given}"


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


_SHELL = "/bin/sh"

_SAID = re.compile(r"(?m)^bash: (?:-c: )?line (\d+): (.*)$(?:\n(?=bash: -c: line \d+: `))?")
_ECHOED = re.compile(r"(?m)^bash: -c: line \d+: `.*(?:\n|$)")

_TEXTS = [
    line.split(" => ") for line in (DATA / "dash_texts.txt").read_text("utf-8").splitlines()[1:]
]


def in_dash_words(text: str, script: str) -> str:
    """`text`, with bash's own messages about `script` as dash would put them."""

    def put(found: re.Match[str]) -> str:
        line, said = int(found[1]), found[2]
        if "syntax error" in said or "unexpected EOF" in said:
            return _syntax(line, said, script) + ("\n" if found[0].endswith("\n") else "")
        return f"{_SHELL}: {line}: {_put(said, script)}" + ("\n" if found[0].endswith("\n") else "")

    return _SAID.sub(put, _ECHOED.sub("", text))


def _put(said: str, script: str) -> str:
    for pattern, put in _TEXTS:
        if (found := re.fullmatch(pattern, said)) is not None:
            return found.expand(put)
    missing = re.fullmatch(r"(.+): No such file or directory", said)
    return said if missing is None else _missing(missing[1], script)


def _missing(path: str, script: str) -> str:
    """What was wanted of a path that is not there shows in the script."""
    name = f"[\"']?{re.escape(path)}"
    forms: tuple[tuple[str, str], ...] = (
        (rf">\s*{name}", f"cannot create {path}: Directory nonexistent"),
        (rf"<\s*{name}", f"cannot open {path}: No such file"),
        (rf"(?:^|[;&|\s])\.\s+{name}", f".: cannot open {path}: No such file"),
    )
    return next((text for form, text in forms if re.search(form, script)), f"{path}: not found")


def _syntax(line: int, said: str, script: str) -> str:
    if "unexpected EOF while looking for matching" in said:
        return f"{_SHELL}: {line}: Syntax error: Unterminated quoted string"
    token = re.search(r"unexpected token `(.+)'", said)
    if token is not None and token[1] != "newline":
        return f'{_SHELL}: {line}: Syntax error: "{token[1]}" unexpected'
    ended = token is None or line == script.rstrip("\n").count("\n") + 1
    at = line if token else line - 1
    return f"{_SHELL}: {at}: Syntax error: {'end of file' if ended else 'newline'} unexpected"
