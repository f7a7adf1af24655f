"""The tools of Claude Code. Texts as found in published transcripts of versions 2.1 (2026).

`Bash` keeps its working directory, and nothing else; the file tools keep what the agent has read. A
command in the background runs to its end at once, and its output lies in the file that is named.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.live_shell import ShellRun
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.toolkits import _claude_files as searching
from agentworld_sim.engines.shell.toolkits._answers import (
    error_answer,
    failure_text,
    suffix_of,
    text_answer,
    write_file,
)
from agentworld_sim.engines.shell.toolkits._claude_files import (
    missing_file_text,
    refusal_if_unread,
    remember,
    resolve_path,
    tool_use_error,
)
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

LINES = 2000
LINE_CHARS = 2000
MAX_BYTES = 256 * 1024
"""A file may be larger only if a part of it is asked for."""

MAX_TOKENS = 25_000
CHARS_PER_TOKEN = 4

_IMAGES = {name: f"image/{name}" for name in ("png", "jpeg", "gif", "webp")} | {"jpg": "image/jpeg"}
_BINARY_NAMES = (
    "7z a avi bin bz2 class db dll doc docx dylib eot exe flac gz ico iso jar lib m4a mkv mov mp3 mp4"
    " o obj odt ogg otf ppt pptx pyc rar so sqlite sqlite3 tar tgz tiff ttf wasm wav webm woff woff2"
    " xls xlsx xz zip"
)
_BINARY = frozenset(_BINARY_NAMES.split())


def _read(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Read`: lines with their numbers."""
    path, files = resolve_path(turn, arguments["file_path"]), turn.live.files
    suffix = suffix_of(path)[1:]
    if suffix in _BINARY:
        return tool_use_error(
            f"This tool cannot read binary files. The file appears to be a binary .{suffix} file."
            " Please use appropriate tools for binary file analysis."
        )
    try:
        if files.stat(path).kind == "directory":
            return error_answer(f"EISDIR: illegal operation on a directory, read '{path}'")
        data = files.read(path)
    except OSError:
        return error_answer(missing_file_text(turn, path))
    remember(turn, path, data)
    if suffix in _IMAGES:
        return Observation(text="", structured=[_image(suffix, data)])
    return _window(data, arguments)


def _window(data: bytes, arguments: Mapping[str, Any]) -> Observation:
    offset, limit = arguments.get("offset"), arguments.get("limit")
    if offset is None and limit is None and len(data) > MAX_BYTES:
        return error_answer(_too_much(_size(len(data)), f"size ({_size(MAX_BYTES)})"))
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    start = max(1, int(offset or 1))
    wanted = lines[start - 1 : start - 1 + int(limit or LINES)]
    if not "\n".join(wanted):
        return text_answer(
            "<system-reminder>Warning: the file exists but is shorter than the provided offset"
            f" ({start}). The file has {len(lines)} lines.</system-reminder>"
        )
    text = "\n".join(f"{number}\t{_cut_line(line)}" for number, line in enumerate(wanted, start))
    tokens = len(text) // CHARS_PER_TOKEN
    if tokens > MAX_TOKENS:
        return error_answer(_too_much(f"{tokens} tokens", f"tokens ({MAX_TOKENS})"))
    return text_answer(text)


def _too_much(has: str, allowed: str) -> str:
    return (
        f"File content ({has}) exceeds maximum allowed {allowed}. Use offset and limit parameters to"
        " read specific portions of the file, or search for specific content instead of reading the"
        " whole file."
    )


def _size(count: int) -> str:
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + name
    return f"{count} bytes"


def _cut_line(line: str) -> str:
    return line if len(line) <= LINE_CHARS else line[:LINE_CHARS] + "... [truncated]"


def _image(suffix: str, data: bytes) -> dict[str, Any]:
    content = base64.b64encode(data).decode()
    source = {"type": "base64", "media_type": _IMAGES[suffix], "data": content}
    return {"type": "image", "source": source}


def _write(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Write`: a whole file."""
    path, files = resolve_path(turn, arguments["file_path"]), turn.live.files
    exists = files.exists(path)
    if exists and files.stat(path).kind == "directory":
        return error_answer(f"EISDIR: illegal operation on a directory, open '{path}'")
    if exists and (refusal := refusal_if_unread(turn, path, files.read(path))) is not None:
        return refusal
    _put(turn, path, arguments["content"].encode("utf-8", "surrogateescape"))
    if exists:
        return text_answer(f"The file {path} has been updated successfully.")
    return text_answer(f"File created successfully at: {path}")


def _edit(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Edit`: an exact string in a file."""
    path = resolve_path(turn, arguments["file_path"])
    old, new = str(arguments["old_string"]), str(arguments["new_string"])
    everywhere = bool(arguments.get("replace_all"))
    data = _content(turn, path)
    if isinstance(data, Observation):
        return data
    refusal = _refusal(turn, path, data, old, new, everywhere=everywhere)
    if refusal is not None:
        return refusal
    text, crlf = _lines_of(data or b"")
    text = _replace(text, old, new, everywhere=everywhere) if old else new
    written = text.replace("\n", "\r\n") if crlf else text
    _put(turn, path, written.encode("utf-8", "surrogateescape"))
    if everywhere:
        return text_answer(
            f"The file {path} has been updated. All occurrences were successfully replaced."
        )
    return text_answer(f"The file {path} has been updated successfully.")


def _content(turn: ShellTurn, path: str) -> bytes | Observation | None:
    """What the file holds; `None` where there is none."""
    try:
        if turn.live.files.stat(path).kind == "directory":
            return error_answer(f"EISDIR: illegal operation on a directory, read '{path}'")
        return turn.live.files.read(path)
    except OSError:
        return None


def _refusal(
    turn: ShellTurn, path: str, data: bytes | None, old: str, new: str, *, everywhere: bool
) -> Observation | None:
    """Why the edit is not made, in the order of the real checks."""
    if old == new:
        return tool_use_error("No changes to make: old_string and new_string are exactly the same.")
    if data is None:
        return tool_use_error(missing_file_text(turn, path)) if old else None
    if not old:
        empty = not data.strip()
        return None if empty else tool_use_error("Cannot create new file - file already exists.")
    if path.endswith(".ipynb"):
        return tool_use_error(
            "File is a Jupyter Notebook. Use the NotebookEdit tool to edit this file."
        )
    if (refusal := refusal_if_unread(turn, path, data)) is not None:
        return refusal
    count = _lines_of(data)[0].count(old)
    if not count:
        return tool_use_error(f"String to replace not found in file.\nString: {old}")
    if count > 1 and not everywhere:
        return tool_use_error(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace"
            " all occurrences, set replace_all to true. To replace only one occurrence, please"
            f" provide more context to uniquely identify the instance.\nString: {old}"
        )
    return None


def _lines_of(data: bytes) -> tuple[str, bool]:
    """The text with plain newlines, and whether most lines of the file end in `\\r\\n`."""
    text = data.decode("utf-8", "surrogateescape")
    crlf = text.count("\r\n")
    return text.replace("\r\n", "\n"), crlf > text.count("\n") - crlf


def _replace(text: str, old: str, new: str, *, everywhere: bool) -> str:
    # What is deleted takes its line's end along.
    if not new and not old.endswith("\n") and old + "\n" in text:
        old += "\n"
    return text.replace(old, new, -1 if everywhere else 1)


def _put(turn: ShellTurn, path: str, data: bytes) -> None:
    write_file(turn, path, data)
    remember(turn, path, data)


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
        return error_answer("\n".join(filter(None, parts)))
    if run.exit_code and not _is_answer(command, run):
        parts.insert(0, f"Exit code {run.exit_code}")
        return error_answer("\n".join(filter(None, parts)))
    return text_answer("\n".join(filter(None, parts)) or "(Bash completed with no output)")


bash_failing = failure_text("Exit code 1\n{error}", is_error=True)


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
    write_file(turn, path, run.stdout.encode("utf-8", "surrogateescape"))
    return text_answer(
        f"Command running in background with ID: {name}. Output is being written to: {path}. You"
        " will be notified when it completes. To check interim output, use Read on that file path."
    )


def _todo_write(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return text_answer(_TODOS)


Bash = _bash
Read = _read
Write = _write
Edit = _edit
Glob = searching.glob
Grep = searching.grep
TodoWrite = _todo_write
