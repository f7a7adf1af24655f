"""The tools of Gemini CLI and of Qwen Code, which grew from it.

Every command runs in a new bash; nothing is kept. Gemini CLI gives a command all the time it wants;
Qwen Code has a `timeout`, in milliseconds.

Sources: google-gemini/gemini-cli, `packages/core/src/tools` and `utils/fileUtils.ts` (autumn 2025);
QwenLM/qwen-code, the same folders (2026). Where a result carries an error, the error's message is what
the model is given.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from agentworld_sim.engines.shell.live_shell import ShellRun
from agentworld_sim.engines.shell.session import ShellSession
from agentworld_sim.engines.shell.toolkits import _answers, _gemini_search as searching
from agentworld_sim.engines.shell.toolkits._answers import error_answer, suffix_of, text_answer
from agentworld_sim.engines.shell.toolkits._gemini_search import is_outside, workspace
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.turns import Observation

LINES = 2000
LINE_CHARS = 2000
MAX_BYTES = 20 * 1024 * 1024
MAX_SVG_BYTES = 1024 * 1024
SNIPPET_CONTEXT = 4
SNIPPET_LINES = 1000

_BINARY_NAMES = (
    ".bin .exe .dll .so .dylib .class .jar .war .zip .tar .gz .bz2 .rar .7z .doc .docx .xls .xlsx .ppt"
    " .pptx .odt .ods .odp .pyc .pyo .obj .o .a .lib .wasm .dat"
)
_BINARY = frozenset(_BINARY_NAMES.split())


def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    name = "absolute_path" if "absolute_path" in arguments else "file_path"
    path, offset, limit = arguments[name], arguments.get("offset"), arguments.get("limit")
    refusal = _read_refusal(turn, path, name, offset, limit)
    if refusal:
        return error_answer(refusal)
    path, files = normal_path(path), turn.live.files
    if not files.exists(path):
        return error_answer(f"File not found: {path}")
    info = files.stat(path)
    if info.kind == "directory":
        return error_answer(f"Path is a directory, not a file: {path}")
    if info.size > MAX_BYTES:
        size = f"{info.size / (1024 * 1024):.2f}MB"
        return error_answer(f"File size exceeds the 20MB limit: {path} ({size})")
    return _content(turn, path, files.read(path), offset, limit)


def _read_refusal(
    turn: ShellTurn, path: str, name: str, offset: float | None, limit: float | None
) -> str:
    if not path.strip():
        return f"The '{name}' parameter must be non-empty."
    if not path.startswith("/"):
        return (
            f"File path must be absolute, but was relative: {path}. You must provide an absolute"
            " path."
        )
    if is_outside(turn, path):
        temporary = f"{turn.live.machine.home}/.gemini/tmp"
        return (
            f"File path must be within one of the workspace directories: {workspace(turn)} or within"
            f" the project temp directory: {temporary}"
        )
    if offset is not None and offset < 0:
        return "Offset must be a non-negative number"
    if limit is not None and limit <= 0:
        return "Limit must be a positive number"
    return ""


def _content(
    turn: ShellTurn, path: str, data: bytes, offset: float | None, limit: float | None
) -> Observation:
    inner = path[len(workspace(turn).rstrip("/")) + 1 :]
    suffix = suffix_of(path)
    kind = mimetypes.guess_type("file" + suffix)[0] or ""
    if suffix == ".svg":
        if len(data) > MAX_SVG_BYTES:
            return text_answer(f"Cannot display content of SVG file larger than 1MB: {inner}")
        return text_answer(data.decode("utf-8", "replace"))
    media = kind.startswith(("image/", "audio/", "video/")) or kind == "application/pdf"
    if media and suffix not in (".ts", ".mts", ".cts"):
        content = {"data": base64.b64encode(data).decode(), "mimeType": kind}
        return Observation(text="", structured=[{"inlineData": content}])
    if suffix in _BINARY or _looks_binary(data):
        return text_answer(f"Cannot display content of binary file: {inner}")
    return text_answer(_lines(data.decode("utf-8", "replace"), int(offset or 0), limit))


def _looks_binary(data: bytes) -> bool:
    head = data[:4096]
    odd = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return b"\0" in head or odd > 0.3 * len(head)


def _lines(text: str, offset: int, limit: float | None) -> str:
    lines = text.removeprefix("\ufeff").split("\n")
    end = min(offset + int(limit or LINES), len(lines))
    wanted = lines[offset:end]
    shown = "\n".join(
        line if len(line) <= LINE_CHARS else line[:LINE_CHARS] + "... [truncated]"
        for line in wanted
    )
    if not offset and end == len(lines) and all(len(line) <= LINE_CHARS for line in wanted):
        return shown
    start = min(offset, len(lines)) + 1
    after = offset + end - start + 1 if offset else end
    return f"""
IMPORTANT: The file content has been truncated.
Status: Showing lines {start}-{end} of {len(lines)} total lines.
Action: To read more of the file, you can use the 'offset' and 'limit' parameters in a subsequent 'read_file' call. For example, to read the next section of the file, use offset: {after}.

--- FILE CONTENT (truncated) ---
{shown}"""


def write_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path = str(arguments["file_path"])
    if not path:
        return error_answer('Missing or empty "file_path"')
    if refusal := _write_refusal(turn, path):
        return error_answer(refusal)
    files = turn.live.files
    exists = files.exists(path)
    if exists and files.stat(path).kind == "directory":
        return error_answer(f"Path is a directory, not a file: {path}")
    try:
        _put(turn, path, arguments["content"])
    except OSError as error:
        return error_answer(f"Error writing to file '{path}': {error.strerror}")
    if exists:
        return text_answer(f"Successfully overwrote file: {path}.")
    return text_answer(f"Successfully created and wrote to new file: {path}.")


def _write_refusal(turn: ShellTurn, path: str) -> str:
    if not path.startswith("/"):
        return f"File path must be absolute: {path}"
    if is_outside(turn, path):
        return f"File path must be within one of the workspace directories: {workspace(turn)}"
    return ""


def replace(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """Gemini's `replace`. Line ends become plain newlines, as the real tool leaves them."""
    path, old, new = (str(arguments[name]) for name in ("file_path", "old_string", "new_string"))
    expected = int(arguments.get("expected_replacements") or 1)
    text = _before(turn, path)
    if isinstance(text, Observation):
        return text
    count = text.count(old) if text is not None and old else 0
    problem = _problem(path, text, old, count)
    if not problem and text is not None and count != expected:
        word = "occurrence" if expected == 1 else "occurrences"
        problem = (
            f"Failed to edit, Expected {expected} {word} but found {count} for old_string in file:"
            f" {path}"
        )
    if problem or (problem := _identical(path, text, old, new)):
        return error_answer(problem)
    if text is None:
        _put(turn, path, new)
        return text_answer(f"Created new file: {path} with provided content.")
    _put(turn, path, text.replace(old, new))
    return text_answer(f"Successfully modified file: {path} ({count} replacements).")


def edit(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """Qwen's `edit`."""
    path, old, new = (str(arguments[name]) for name in ("file_path", "old_string", "new_string"))
    text = _before(turn, path)
    if isinstance(text, Observation):
        return text
    if text is not None and not new and old and not old.endswith("\n") and old + "\n" in text:
        old += "\n"
    count = text.count(old) if text is not None and old else 0
    problem = _problem(path, text, old, count)
    if not problem and count > 1 and not arguments.get("replace_all"):
        problem = (
            f"Failed to edit. Found {count} occurrences for old_string in {path} but replace_all was"
            " not enabled."
        )
    if problem or (problem := _identical(path, text, old, new)):
        return error_answer(problem)
    if text is None:
        _put(turn, path, new)
        return text_answer(
            " ".join([f"Created new file: {path} with provided content.", *_snippet(None, new)])
        )
    after = text.replace(old, new)
    crlf = b"\r\n" in turn.live.files.read(path)
    _put(turn, path, after.replace("\n", "\r\n") if crlf else after)
    return text_answer(" ".join([f"The file: {path} has been updated.", *_snippet(text, after)]))


def _before(turn: ShellTurn, path: str) -> str | Observation | None:
    """The file's text with plain newlines; `None` where there is no file."""
    if not path:
        return error_answer("The 'file_path' parameter must be non-empty.")
    if refusal := _write_refusal(turn, path):
        return error_answer(refusal)
    files = turn.live.files
    if not files.exists(path):
        return None
    if files.stat(path).kind == "directory":
        return error_answer("Error preparing edit: EISDIR: illegal operation on a directory, read")
    return files.read(path).decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def _problem(path: str, text: str | None, old: str, count: int) -> str:
    if text is None:
        return f"File not found: {path}" if old else ""
    if not old:
        return f"File already exists, cannot create: {path}"
    if not count:
        return (
            f"Failed to edit, 0 occurrences found for old_string in {path}. No edits made. The exact"
            " text in old_string was not found. Ensure you're not escaping content incorrectly and"
            " check whitespace, indentation, and context. Use read_file tool to verify."
        )
    return ""


def _identical(path: str, text: str | None, old: str, new: str) -> str:
    if text is None or old != new:
        return ""
    return f"No changes to apply. The old_string and new_string are identical in file: {path}"


def _put(turn: ShellTurn, path: str, text: str) -> None:
    _answers.write_file(turn, path, text.encode("utf-8", "surrogateescape"))


def _snippet(before: str | None, after: str) -> list[str]:
    """The changed lines and some about them; nothing where nothing is worth showing."""
    lines = after.split("\n")
    start, end = 1, len(lines)
    if before is not None:
        if not after:
            return []
        first, last = _difference_range(before.split("\n"), lines)
        if last - first > SNIPPET_LINES:
            return []
        start = max(1, first - SNIPPET_CONTEXT)
        end = min(len(lines), last + SNIPPET_CONTEXT)
    body = "\n".join(lines[start - 1 : end])
    header = f"Showing lines {start}-{end} of {len(lines)} from the edited file:"
    return [f"{header}\n\n---\n\n{body}"]


def _difference_range(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """The first and the last line that differ, from 1."""
    shorter = min(len(before), len(after))
    first = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    same = 0
    while same < shorter - first and before[-1 - same] == after[-1 - same]:
        same += 1
    return first + 1, len(after) - same


def todo_write(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """Qwen's `todo_write`."""
    todos = arguments["todos"]
    if not todos:
        return text_answer(
            "Todo list has been cleared.\n\n<system-reminder>\nYour todo list is now empty. DO NOT"
            " mention this explicitly to the user. You have no pending tasks in your todo list.\n"
            "</system-reminder>"
        )
    listed = json.dumps(todos, separators=(",", ":"), ensure_ascii=False)
    return text_answer(
        "Todos have been modified successfully. Ensure that you continue to use the todo list to"
        " track your progress. Please proceed with the current tasks if applicable\n\n"
        "<system-reminder>\nYour todo list has changed. DO NOT mention this explicitly to the user."
        f" Here are the latest contents of your todo list:\n\n{listed}. Continue on with the tasks at"
        " hand if applicable.\n</system-reminder>"
    )


QWEN_MS = 120_000


def run_shell_command(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return _run(turn, arguments, arguments.get("timeout"))


def qwen_run_shell_command(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    return _run(turn, arguments, arguments.get("timeout") or QWEN_MS)


def _run(turn: ShellTurn, arguments: Mapping[str, Any], milliseconds: float | None) -> Observation:
    command, directory = str(arguments["command"]), arguments.get("directory")
    if refusal := _refusal(turn, command, directory):
        return error_answer(refusal)
    background = bool(arguments.get("is_background"))
    limit = None if background or milliseconds is None else round(milliseconds * 1000)
    session = ShellSession(cwd=directory or workspace(turn))
    run = turn.live.run(command, session, keep="nothing", timeout_us=limit)
    output = _output(run)
    if run.ending != "finished":
        return text_answer(_timeout_text(output, milliseconds if limit else None))
    return _report(arguments, output, run.exit_code, turn.live.random)


def failing(error: str, arguments: Mapping[str, Any], seed: int) -> Observation:
    return _report(arguments, error, 1, Random(seed))


def _report(
    arguments: Mapping[str, Any], output: str, exit_code: int, random: Random
) -> Observation:
    command, directory = str(arguments["command"]), arguments.get("directory")
    group = random.randrange(1_000, 30_000)
    background = arguments.get("is_background") or command.rstrip().endswith("&")
    return text_answer(
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
    if directory and is_outside(turn, directory):
        return f"Directory '{directory}' is not within any of the registered workspace directories."
    return ""


def _output(run: ShellRun) -> str:
    gap = "" if not run.stdout or run.stdout.endswith("\n") else "\n"
    text = run.stdout + (gap + run.stderr if run.stderr else "")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).strip()


def _timeout_text(output: str, milliseconds: float | None) -> str:
    if milliseconds is None:
        text, when = "Command was cancelled by user before it could complete.", "was cancelled"
    else:
        text = f"Command timed out after {milliseconds:g}ms before it could complete."
        when = "timed out"
    if output:
        return f"{text} Below is the output before it {when}:\n{output}"
    return f"{text} There was no output before it {when}."


glob = searching.glob
search_file_content = searching.search_file_content
list_directory = searching.list_directory
