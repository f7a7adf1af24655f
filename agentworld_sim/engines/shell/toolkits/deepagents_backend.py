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

from agentworld_sim.engines.shell.glob_patterns import Glob, PatternTooBroad
from agentworld_sim.engines.shell.toolkits import _answers, _deepagents_texts as texts
from agentworld_sim.engines.shell.toolkits._answers import absolute_path
from agentworld_sim.engines.shell.toolkits._file_search import files_below
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.turns import Observation

EXECUTE_SECONDS = 120
"""How long a command may take unless the call says otherwise."""

MAX_GLOB_MATCHES = 10_000

_NOT_WALKED = frozenset({"proc", "sys", "dev"})


class _BackendRefusal(ValueError):
    """What the machine says instead of a result."""


def _answer(text: str, **result: Any) -> Observation:
    return Observation(text=text, structured=result)


def _error(text: str, *, said: str | None = None) -> Observation:
    """An error as the backend gives it, and what the tool makes of it."""
    return Observation(text=said or f"Error: {text}", structured={"error": text}, is_error=True)


def execute(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    output, exit_code = _run_command(turn, arguments["command"], arguments.get("timeout"))
    word = "failed" if exit_code else "succeeded"
    text = f"{output}\n[Command {word} with exit code {exit_code}]"
    return _answer(text, output=output, exit_code=exit_code)


def _run_command(turn: ShellTurn, command: str, timeout: int | None) -> tuple[str, int]:
    """What a command printed, and its exit code."""
    seconds = timeout or EXECUTE_SECONDS
    run = turn.run(command, merge=True, timeout_s=seconds)
    output = run.stdout
    if run.ending == "timeout":
        advice = (
            "(custom timeout). The command may be stuck or require more time."
            if timeout
            else "For long-running commands, re-run using the timeout parameter."
        )
        after = f"{seconds} seconds {advice}" if timeout else f"{seconds} seconds. {advice}"
        output = f"Error: Command timed out after {after}"
    return output, run.exit_code


def ls(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = arguments["path"], turn.live.files
    real = absolute_path(turn, path)
    try:
        names = sorted(files.listdir(real))
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
    return _answer(texts.list_text(paths), entries=entries)


def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = arguments["file_path"], turn.live.files
    real = absolute_path(turn, path)
    try:
        if files.stat(real).kind != "file":
            return _error(f"File '{path}': not_a_file")
        data = files.read(real)
        offset, limit = arguments.get("offset", 0), arguments.get("limit", 2000)
        result = texts.result(path, data, offset, limit)
        shown = texts.format_file(path, data, offset, limit)
    except OSError:
        return _error(f"File '{path}': file_not_found")
    except texts.FileUnreadable as refused:
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
    files, real = turn.live.files, absolute_path(turn, path)
    code = "is_directory"
    try:
        if not (files.exists(real) and files.stat(real).kind == "directory"):
            _answers.write_file(turn, real, data)
            return None
    except OSError as error:
        code = error.strerror or type(error).__name__
    return _error(code, said=f"Failed to write file '{path}': {code}")


def edit_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path = arguments["file_path"]
    try:
        count = _replace_in_file(turn, absolute_path(turn, path), path, arguments)
    except _BackendRefusal as refused:
        return _error(str(refused), said=str(refused))
    text = f"Successfully replaced {count} instance(s) of the string in '{path}'"
    return _answer(text, path=path, occurrences=count)


def _replace_in_file(turn: ShellTurn, real: str, path: str, arguments: Mapping[str, Any]) -> int:
    """Replaces in the file `real`, which the agent calls `path`; gives how often.

    Raises:
        _BackendRefusal: the tool's own words.
    """
    old, new = str(arguments["old_string"]), str(arguments["new_string"])
    if not old:
        raise _BackendRefusal(
            "Error: old_string cannot be empty. Provide the exact text to replace."
        )
    files = turn.live.files
    try:
        if files.stat(real).kind != "file":
            raise _BackendRefusal(f"Error: '{path}' is not a regular file")
        text = files.read(real).decode()
    except UnicodeDecodeError:
        raise _BackendRefusal(f"Error: File '{path}' is not a text file") from None
    except OSError:
        raise _BackendRefusal(f"Error: File '{path}' not found") from None
    found, wanted, count = _in_file_style(text, old, new)
    if not count:
        raise _BackendRefusal(f"Error: String not found in file: '{old}'")
    if count > 1 and not arguments.get("replace_all", False):
        raise _BackendRefusal(
            f"Error: String '{old}' appears multiple times. Use replace_all=True to replace all"
            " occurrences."
        )
    files.write(real, text.replace(found, wanted).encode())
    return count


def _in_file_style(text: str, old: str, new: str) -> tuple[str, str, int]:
    """`old` and `new` with the line ends that `text` has around the match, and how often it matches.

    Reading turns `\\r\\n` into `\\n`, so that is what an agent sends.
    """
    old_lf, new_lf = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    crlf = (old_lf.replace("\n", "\r\n"), new_lf.replace("\n", "\r\n"))
    for found, wanted in ((old, new), crlf, (old_lf, new_lf)):
        if count := text.count(found):
            return found, wanted, count
    return old, new, 0


def delete(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = arguments["file_path"], turn.live.files
    real = absolute_path(turn, path)
    try:
        files.lstat(real)
    except OSError:
        return _error_as_said(f"Error: '{path}' not found")
    if real == "/":
        return _error_as_said(
            "Error deleting file '/': rm: it is dangerous to operate recursively on '/'\n"
            "rm: use --no-preserve-root to override this failsafe"
        )
    try:
        files.remove(real, recursive=True)
    except OSError as error:
        return _error_as_said(
            f"Error deleting file '{path}': rm: cannot remove '{path}': {error.strerror}"
        )
    return _answer(f"Deleted {path}", path=path)


def _error_as_said(text: str) -> Observation:
    return _error(text, said=text)


def glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    root = arguments.get("path") or "/"
    try:
        found, cut = _find_files(
            turn, root if root.startswith("/") else f"/{root}", arguments["pattern"]
        )
    except _BackendRefusal as refused:
        return _error(str(refused))
    matches = [{"path": path, "is_dir": False} for path in found]
    return _answer(texts.list_text(found), matches=matches, truncated=cut)


def _find_files(turn: ShellTurn, root: str, pattern: str) -> tuple[list[str], bool]:
    """The files below `root` that a pattern matches, and whether there are more.

    Raises:
        _BackendRefusal: the machine's own words.
    """
    files = turn.live.files
    try:
        if files.stat(root).kind != "directory":
            raise _BackendRefusal(f"Path '{root}': not_a_directory")
    except OSError:
        raise _BackendRefusal(f"Path '{root}': path_not_found") from None
    if ".." in pattern.replace("\\", "/").split("/"):
        raise _BackendRefusal(f"Path '{root}': invalid_pattern")
    try:
        glob = Glob(pattern, dot=False)
    except PatternTooBroad:
        raise _BackendRefusal(f"Path '{root}': pattern_too_broad") from None
    fits = glob.matches if "/" in pattern else glob.matches_name

    def skip(inner: str, is_directory: bool) -> bool:
        return root == "/" and is_directory and inner in _NOT_WALKED

    found: list[str] = []
    for inner, info in files_below(files, root.rstrip("/"), skip):
        whole = f"{root.rstrip('/')}/{inner}"
        if fits(inner) and (info.kind == "file" or _leads_to_file(turn, root, whole)):
            if len(found) == MAX_GLOB_MATCHES:
                return sorted(found), True
            found.append(whole)
    return sorted(found), False


def _leads_to_file(turn: ShellTurn, root: str, path: str) -> bool:
    """Whether the symbolic link ends at a file inside the search root."""
    files = turn.live.files
    try:
        inside = files.realpath(path).startswith(files.realpath(root).rstrip("/") + "/")
        return inside and files.stat(path).kind == "file"
    except OSError:
        return False


def grep(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path: str | None = arguments.get("path")
    most: int | None = arguments.get("max_count")
    pattern, limit = arguments["pattern"], sys.maxsize if most is None else most
    try:
        found = texts.grep(turn, pattern, path, arguments.get("glob"), limit)
    except ValueError as refused:
        return _error_as_said(f"Path '{path or '.'}': {refused}")
    matches = [
        {"path": where, "line": number, "text": text}
        for where, lines in found.matches.items()
        for number, text in lines
    ]
    text = texts.format_search(found, arguments.get("output_mode", "content"), pattern)
    return _answer(text, matches=matches, truncated=found.cut)
