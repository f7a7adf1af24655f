"""What Claude Code's file tools remember, how they speak of paths, and `Glob` and `Grep`, which run a bundled ripgrep.

Texts as found in published transcripts of versions 2.1 (2026).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_sim.engines.shell.toolkits._answers import absolute_path, error_answer, text_answer
from agentworld_sim.engines.shell.toolkits._file_search import (
    PatternRefused,
    pattern_options,
    run_ripgrep,
)
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import blob_id
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
        names = sorted(turn.live.files.listdir(folder or "/"))
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


GLOB_FILES = 100
HEAD_LIMIT = 250
COLUMNS = 500
"""Longer lines are left out, so that one of them does not fill the answer."""

CHARS = 20_000

_NOT_SEARCHED = tuple(f"--glob=!{name}" for name in (".git", ".svn", ".hg", ".bzr", ".jj", ".sl"))


def glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Glob`: files by name, the oldest first."""
    files, pattern = turn.live.files, str(arguments["pattern"])
    root = resolve_path(turn, arguments.get("path") or turn.cwd)
    if not files.exists(root):
        return tool_use_error(f"Directory does not exist: {root}. {cwd_note(turn)}")
    if files.stat(root).kind != "directory":
        return tool_use_error(f"Path is not a directory: {root}")
    if pattern.startswith("/"):
        # An absolute pattern brings its own root: the part before the first wildcard.
        root, pattern = _split_root(pattern)
    found = run_ripgrep(turn, ["--files", "--hidden", "--no-ignore", f"--glob={pattern}"], root)
    if not found:
        return text_answer("No files found")
    oldest = sorted(found, key=lambda path: (files.stat(path).mtime_us, path))
    lines = [display_path(turn, path) for path in oldest[:GLOB_FILES]]
    if len(found) > GLOB_FILES:
        lines.append("(Results are truncated. Consider using a more specific path or pattern.)")
    return text_answer("\n".join(lines))


def _split_root(pattern: str) -> tuple[str, str]:
    parts = pattern.split("/")
    plain = 0
    while plain < len(parts) - 1 and not set("*?[{") & set(parts[plain]):
        plain += 1
    return "/".join(parts[:plain]) or "/", "/".join(parts[plain:])


def grep(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    """`Grep`: contents by a regular expression."""
    root = resolve_path(turn, arguments.get("path") or turn.cwd)
    if not turn.live.files.exists(root):
        return tool_use_error(f"Path does not exist: {root}. {cwd_note(turn)}")
    mode = arguments.get("output_mode", "files_with_matches")
    try:
        lines = run_ripgrep(turn, _grep_options(arguments, mode), root)
    except PatternRefused as error:
        return error_answer(f"rg: {error}")
    if mode == "files_with_matches":
        times = {path: turn.live.files.stat(path).mtime_us for path in lines}
        lines.sort(key=lambda path: (-times[path], path))
    lines, note = _page(arguments, [display_path(turn, line) for line in lines])
    if mode == "content":
        return text_answer(_contents(lines, note))
    return text_answer((_counts if mode == "count" else _files)(lines, note))


def _grep_options(arguments: Mapping[str, Any], mode: str) -> list[str]:
    """The command line of `rg`; several globs may be given, apart by blanks or commas outside braces."""
    options = ["--hidden", f"--max-columns={COLUMNS}", *_NOT_SEARCHED]
    options += pattern_options(
        arguments["pattern"],
        ignore_case=bool(arguments.get("-i")),
        multiline=bool(arguments.get("multiline")),
    )
    for word in str(arguments.get("glob") or "").split():
        options += [f"--glob={one}" for one in ([word] if "{" in word else word.split(",")) if one]
    if kind := arguments.get("type"):
        options.append(f"--type={kind}")
    if mode != "content":
        return [*options, *(["--count", "--with-filename"] if mode == "count" else ["-l"])]
    around = arguments.get("-C", arguments.get("context"))
    sides = {"-C": around} if around is not None else {n: arguments.get(n) for n in ("-A", "-B")}
    options += [f"{name}{int(count)}" for name, count in sides.items() if count]
    return [*options, "-n" if arguments.get("-n", True) else "-N"]


def _page(arguments: Mapping[str, Any], lines: Sequence[str]) -> tuple[list[str], str]:
    """The lines asked for, and what is said of the rest."""
    limit, offset = arguments.get("head_limit"), int(arguments.get("offset") or 0)
    limit = HEAD_LIMIT if limit is None else int(limit)
    rest = list(lines[offset:])
    # A limit of 0 is none.
    cut = 0 < limit < len(rest)
    notes = [f"limit: {limit}"] * cut + [f"offset: {offset}"] * bool(offset)
    return rest[:limit] if cut else rest, ", ".join(notes)


def _files(lines: Sequence[str], note: str) -> str:
    if not lines and not note:
        return "No files found"
    word = "file" if len(lines) == 1 else "files"
    return "\n".join([f"Found {len(lines)} {word}{f' {note}' if note else ''}", *lines])


def _counts(lines: Sequence[str], note: str) -> str:
    total = sum(int(line.rpartition(":")[2]) for line in lines)
    times = "occurrence" if total == 1 else "occurrences"
    word = "file" if len(lines) == 1 else "files"
    said_of = f" with pagination = {note}" if note else ""
    listed = "\n".join(lines) or "No matches found"
    return f"{listed}\n\nFound {total} total {times} across {len(lines)} {word}.{said_of}"


def _contents(lines: Sequence[str], note: str) -> str:
    text = "\n".join(lines) or "No matches found"
    if len(text) > CHARS:
        hidden = text.count("\n", CHARS) + 1
        text = f"{text[:CHARS]}\n\n... [{hidden} lines truncated] ..."
    return f"{text}\n\n[Showing results with pagination = {note}]" if note else text
