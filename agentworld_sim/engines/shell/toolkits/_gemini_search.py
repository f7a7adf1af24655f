"""How Gemini CLI lists, finds and searches.

Source: google-gemini/gemini-cli, `packages/core/src/tools` (autumn 2025).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentworld_sim.engines.shell.glob_patterns import Glob, PatternTooBroad
from agentworld_sim.engines.shell.toolkits._answers import absolute_path, error_answer, text_answer
from agentworld_sim.engines.shell.toolkits._file_search import (
    GitIgnore,
    Hit,
    PatternRefused,
    files_below,
    pattern_options,
    search,
)
from agentworld_sim.engines.shell.toolkits._node import collation_key
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import normal_path
from agentworld_sim.types.turns import Observation

MAX_MATCHES = 20_000
RECENT_US = 24 * 60 * 60 * 1_000_000
"""Files changed within a day come first, the newest first; the others by name."""

_NOT_FOUND = frozenset({"node_modules", ".git", "bower_components", ".svn", ".hg"})
_NOT_SEARCHED = tuple(
    f"--glob=!{name}"
    for name in ("node_modules", "bower_components", "build", "dist", "coverage", "*.log", "*.tmp")
)


def workspace(turn: ShellTurn) -> str:
    """The one workspace directory."""
    return turn.live.machine.workdir


def is_outside(turn: ShellTurn, path: str) -> bool:
    """Whether a path lies outside the workspace."""
    return not (normal_path(path) + "/").startswith(workspace(turn).rstrip("/") + "/")


def list_directory(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    path, files = str(arguments["path"]), turn.live.files
    if not path.startswith("/"):
        return error_answer(f"Path must be absolute: {path}")
    if is_outside(turn, path):
        return error_answer(
            f"Path must be within one of the workspace directories: {workspace(turn)}"
        )
    if not files.exists(path):
        return error_answer(
            f"Error listing directory: ENOENT: no such file or directory, stat '{path}'"
        )
    if files.stat(path).kind != "directory":
        return error_answer(f"Error: Path is not a directory: {path}")
    names = files.listdir(path)
    if not names:
        return text_answer(f"Directory {path} is empty.")
    options: Mapping[str, Any] = arguments.get("file_filtering_options") or {}
    kept = _not_ignored(turn, path, names, respect=options.get("respect_git_ignore", True))
    hidden = len(names) - len(kept)
    patterns = [_simple(one) for one in arguments.get("ignore") or ()]
    kept = [name for name in kept if not any(one.fullmatch(name) for one in patterns)]
    folders = {name for name in kept if _kind(turn, f"{path}/{name}") == "directory"}
    kept = [name for name in kept if _kind(turn, f"{path}/{name}")]
    kept.sort(key=lambda name: (name not in folders, collation_key(name)))
    lines = [f"[DIR] {name}" if name in folders else name for name in kept]
    note = f"\n\n({hidden} git-ignored)" if hidden else ""
    return text_answer("\n".join([f"Directory listing for {path}:", *lines]) + note)


def _not_ignored(turn: ShellTurn, path: str, names: Sequence[str], *, respect: bool) -> list[str]:
    ignored = GitIgnore(turn.live.files, workspace(turn))
    return [
        name
        for name in names
        if not respect
        or not ignored.covers(
            f"{path.rstrip('/')}/{name}", _kind(turn, f"{path}/{name}") == "directory"
        )
    ]


def _kind(turn: ShellTurn, path: str) -> str:
    """What a name stands for; empty for a link to nowhere."""
    try:
        return turn.live.files.stat(path).kind
    except OSError:
        return ""


def _simple(pattern: str) -> re.Pattern[str]:
    return re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."))


def glob(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    files, pattern = turn.live.files, str(arguments["pattern"])
    root = absolute_in(turn, arguments.get("path") or ".")
    if refusal := _glob_refusal(turn, root, pattern):
        return error_answer(refusal)
    # A pattern that is a file's name means that file.
    literal = pattern if files.exists(f"{root}/{pattern}") else None
    try:
        wanted = Glob(pattern, ignore_case=not arguments.get("case_sensitive"))
    except PatternTooBroad:
        return text_answer(f'No files found matching pattern "{pattern}" within {root}')

    def skip(path: str, is_directory: bool) -> bool:
        return is_directory and path.rpartition("/")[2] in _NOT_FOUND

    found = [
        (f"{root.rstrip('/')}/{path}", info.mtime_us)
        for path, info in files_below(files, root.rstrip("/"), skip)
        if (path == literal if literal is not None else wanted.matches(path))
    ]
    kept = found
    if arguments.get("respect_git_ignore", True):
        ignored = GitIgnore(files, workspace(turn))
        kept = [(path, time) for path, time in found if not ignored.covers(path, False)]
    hidden = len(found) - len(kept)
    if not kept:
        note = f" ({hidden} files were git-ignored)" if hidden else ""
        return text_answer(f'No files found matching pattern "{pattern}" within {root}{note}')
    note = f" ({hidden} additional files were git-ignored)" if hidden else ""
    listed = "\n".join(_by_recency(kept, files.clock.now_us()))
    return text_answer(
        f'Found {len(kept)} file(s) matching "{pattern}" within {root}{note}, sorted by modification'
        f" time (newest first):\n{listed}"
    )


def _glob_refusal(turn: ShellTurn, root: str, pattern: str) -> str:
    if is_outside(turn, root):
        return (
            f'Search path ("{root}") resolves outside the allowed workspace directories:'
            f" {workspace(turn)}"
        )
    if not turn.live.files.exists(root):
        return f"Search path does not exist {root}"
    if turn.live.files.stat(root).kind != "directory":
        return f"Search path is not a directory: {root}"
    return "" if pattern.strip() else "The 'pattern' parameter cannot be empty."


def absolute_in(turn: ShellTurn, path: str) -> str:
    """`path` from the workspace directory: these tools know no other."""
    return absolute_path(turn, path if path.startswith("/") else f"{workspace(turn)}/{path}")


def _by_recency(found: Sequence[tuple[str, int]], now_us: int) -> list[str]:
    recent = [(path, time) for path, time in found if now_us - time < RECENT_US]
    older = [path for path, time in found if now_us - time >= RECENT_US]
    recent.sort(key=lambda one: -one[1])
    return [path for path, _ in recent] + sorted(older, key=collation_key)


def search_file_content(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    files, pattern, include = turn.live.files, str(arguments["pattern"]), arguments.get("include")
    given: str | None = arguments.get("path")
    root = absolute_in(turn, given or ".")
    if given and is_outside(turn, root):
        return error_answer(
            f'Path validation failed: Attempted path "{given}" resolves outside the allowed workspace'
            f" directories: {workspace(turn)}"
        )
    if not files.exists(root):
        error = f"ENOENT: no such file or directory, stat '{root}'"
        return error_answer(f"Failed to access path stats for {root}: Error: {error}")
    if files.stat(root).kind != "directory":
        error = f"Path is not a directory: {root}"
        return error_answer(f"Failed to access path stats for {root}: Error: {error}")
    try:
        options = [*pattern_options(pattern, ignore_case=True), *_NOT_SEARCHED]
        options += [f"--glob={include}"] * bool(include)
        hits = search(turn, options, root)[:MAX_MATCHES]
    except PatternRefused as error:
        code = f"ripgrep exited with code 2: rg: {error}\n"
        return text_answer(f"Error during grep search operation: {code}")
    where = f'in path "{given}"' if given else "in the workspace directory"
    what = f' for pattern "{pattern}" {where}' + (f' (filter: "{include}")' if include else "")
    if not hits:
        return text_answer(f"No matches found{what}.")
    return text_answer(_format_hits(root, hits, what))


def _format_hits(root: str, hits: Sequence[Hit], what: str) -> str:
    by_path: dict[str, list[str]] = {}
    for hit in hits:
        inner = hit.path[len(root.rstrip("/")) + 1 :]
        by_path.setdefault(inner, []).append(f"L{hit.line}: {hit.text.strip()}")
    limited = ""
    if len(hits) >= MAX_MATCHES:
        limited = f" (results limited to {MAX_MATCHES} matches for performance)"
    word = "match" if len(hits) == 1 else "matches"
    parts = [f"Found {len(hits)} {word}{what}{limited}:", "---"]
    for path, lines in by_path.items():
        parts += [f"File: {path}", *lines, "---"]
    return "\n".join(parts)
