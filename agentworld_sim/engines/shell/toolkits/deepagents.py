"""The file and shell tools of deepagents, as they answer on a sandbox.

Source: deepagents 0.7, `middleware/filesystem.py` over `backends/sandbox.py`. Files are read, written
and searched on the machine itself; every command runs in a new shell in the working directory.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from typing import Any

from agentworld_sim.engines.shell.glob_patterns import Glob, PatternTooBroad
from agentworld_sim.engines.shell.toolkits import _deepagents_grep as searching
from agentworld_sim.engines.shell.toolkits import _deepagents_read as reading
from agentworld_sim.engines.shell.toolkits._answers import (
    failed,
    said,
)
from agentworld_sim.engines.shell.toolkits._walking import files_below
from agentworld_sim.engines.shell.turn import Operation, ShellTurn
from agentworld_sim.types.files import parent_of
from agentworld_sim.types.turns import Observation

EXECUTE_SECONDS = 120
"""How long a command may take unless the call says otherwise."""

MAX_EXECUTE_SECONDS = 3600
MAX_GREP_MATCHES = 1000
MAX_GLOB_MATCHES = 10_000

_GLOB_CUT = (
    "Note: the search stopped early because it hit its time or size limit. The paths above are valid"
    " but incomplete. Narrow the search (a more specific pattern or a narrower path) to see the rest."
)
_EMPTY_OLD = "Error: old_string cannot be empty. Provide the exact text to replace."
_NOT_WALKED = frozenset({"proc", "sys", "dev"})


class _PathRefused(ValueError):
    """The path is not one the tools take."""


class Refused(ValueError):
    """What the machine says instead of a result."""


def _valid(path: str) -> str:
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


def _checked(
    argument: str, operation: Callable[[ShellTurn, str, Mapping[str, Any]], Observation]
) -> Operation:
    """An operation whose path is validated before anything else."""

    def run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            path = _valid(arguments[argument])
        except _PathRefused as error:
            return failed(f"Error: {error}")
        return operation(turn, path, arguments)

    return run


def execute(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    timeout: int | None = arguments.get("timeout")
    if timeout is not None and timeout < 0:
        return failed(f"Error: timeout must be non-negative, got {timeout}.")
    if timeout is not None and timeout > MAX_EXECUTE_SECONDS:
        return failed(
            f"Error: timeout {timeout}s exceeds maximum allowed ({MAX_EXECUTE_SECONDS}s)."
        )
    if timeout == 0:
        return failed("Error: Invalid parameter. timeout must be positive, got 0")
    output, exit_code = executed(turn, arguments["command"], timeout)
    word = "failed" if exit_code else "succeeded"
    return said(f"{output}\n[Command {word} with exit code {exit_code}]")


def execute_failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return said(f"{error}\n\n[Command failed with exit code 1]")


def executed(turn: ShellTurn, command: str, timeout: int | None) -> tuple[str, int]:
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


def _ls(turn: ShellTurn, path: str, arguments: Mapping[str, Any]) -> Observation:
    try:
        names = turn.live.files.listdir(path)
    except NotADirectoryError:
        return failed(f"Error: Path '{path}': not_a_directory")
    except OSError:
        return failed(f"Error: Path '{path}': path_not_found")
    return said(searching.list_text([f"{path.rstrip('/')}/{name}" for name in names]))


def _read(turn: ShellTurn, path: str, arguments: Mapping[str, Any]) -> Observation:
    files = turn.live.files
    try:
        if files.stat(path).kind != "file":
            return failed(f"Error: File '{path}': not_a_file")
        data = files.read(path)
        content = reading.shown(path, data, arguments.get("offset", 0), arguments.get("limit", 100))
    except OSError:
        return failed(f"Error: File '{path}': file_not_found")
    except reading.ReadRefused as error:
        return failed(f"Error: File '{path}': {error}")
    if isinstance(content, str):
        return said(content)
    return Observation(text="", structured=[content])


def _write(turn: ShellTurn, path: str, arguments: Mapping[str, Any]) -> Observation:
    files = turn.live.files
    try:
        files.mkdir(parent_of(path), parents=True)
        if files.exists(path) and files.stat(path).kind == "directory":
            return failed(f"Failed to write file '{path}': is_directory")
        files.write(path, arguments["content"].encode("utf-8", "surrogateescape"))
    except OSError as error:
        return failed(f"Failed to write file '{path}': {error.strerror}")
    turn.live.note_file_change()
    return said(f"Updated file {path}")


def _edit(turn: ShellTurn, path: str, arguments: Mapping[str, Any]) -> Observation:
    try:
        count = edited(turn, path, path, arguments)
    except Refused as refused:
        return failed(str(refused))
    return said(f"Successfully replaced {count} instance(s) of the string in '{path}'")


def edited(turn: ShellTurn, real: str, path: str, arguments: Mapping[str, Any]) -> int:
    """Replaces in the file `real`, which the agent calls `path`; gives how often.

    Raises:
        Refused: the tool's own words.
    """
    old, new = str(arguments["old_string"]), str(arguments["new_string"])
    if not old:
        raise Refused(_EMPTY_OLD)
    files = turn.live.files
    try:
        if files.stat(real).kind != "file":
            raise Refused(f"Error: '{path}' is not a regular file")
        text = files.read(real).decode()
    except UnicodeDecodeError:
        raise Refused(f"Error: File '{path}' is not a text file") from None
    except OSError:
        raise Refused(f"Error: File '{path}' not found") from None
    found, wanted, count = _in_file_style(text, old, new)
    if not count:
        raise Refused(f"Error: String not found in file: '{old}'")
    if count > 1 and not arguments.get("replace_all", False):
        raise Refused(
            f"Error: String '{old}' appears multiple times. Use replace_all=True to replace all"
            " occurrences."
        )
    files.write(real, text.replace(found, wanted).encode())
    turn.live.note_file_change()
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


def _delete(turn: ShellTurn, path: str, arguments: Mapping[str, Any]) -> Observation:
    files = turn.live.files
    try:
        files.lstat(path)
    except OSError:
        return failed(f"Error: '{path}' not found")
    if path == "/":
        return failed(
            "Error deleting file '/': rm: it is dangerous to operate recursively on '/'\n"
            "rm: use --no-preserve-root to override this failsafe"
        )
    try:
        files.remove(path, recursive=True)
    except OSError as error:
        return failed(f"Error deleting file '{path}': rm: cannot remove '{path}': {error.strerror}")
    turn.live.note_file_change()
    return said(f"Deleted {path}")


def _glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    try:
        root = _valid(arguments.get("path") or "/")
        found, cut = matched(turn, root, str(arguments["pattern"]))
    except (_PathRefused, Refused) as error:
        return failed(f"Error: {error}")
    text = searching.list_text(found)
    return said(f"{text}\n\n{_GLOB_CUT}" if cut else text)


def matched(turn: ShellTurn, root: str, pattern: str) -> tuple[list[str], bool]:
    """The files below `root` that a pattern matches, and whether there are more.

    Raises:
        Refused: the machine's own words.
    """
    files = turn.live.files
    try:
        if files.stat(root).kind != "directory":
            raise Refused(f"Path '{root}': not_a_directory")
    except OSError:
        raise Refused(f"Path '{root}': path_not_found") from None
    if ".." in pattern.replace("\\", "/").split("/"):
        raise Refused(f"Path '{root}': invalid_pattern")
    try:
        glob = Glob(pattern, dot=False)
    except PatternTooBroad:
        raise Refused(f"Path '{root}': pattern_too_broad") from None
    fits = glob.matches if "/" in pattern else glob.matches_name

    def skip(inner: str, is_directory: bool) -> bool:
        return root == "/" and is_directory and inner in _NOT_WALKED

    found: list[str] = []
    for inner, info in files_below(files, root, skip=skip, links=True):
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


def _grep(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path: str | None = arguments.get("path")
    if path is not None:
        try:
            path = _valid(path)
        except _PathRefused as error:
            return failed(f"Error: {error}")
    most = arguments.get("max_count") or MAX_GREP_MATCHES
    pattern, workdir = arguments["pattern"], turn.live.machine.workdir
    try:
        found = searching.grep(turn.live.files, workdir, pattern, path, arguments.get("glob"), most)
    except ValueError as error:
        return failed(f"Path '{path or '.'}': {error}")
    mode = arguments.get("output_mode", "files_with_matches")
    return said(searching.rendered(found, mode, pattern))


ls = _checked("path", _ls)
read_file = _checked("file_path", _read)
write_file = _checked("file_path", _write)
edit_file = _checked("file_path", _edit)
delete = _checked("file_path", _delete)
glob = _glob
grep = _grep
