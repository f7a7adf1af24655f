"""Looking around, as the filesystem server does it."""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentworld_sim.engines.shell.glob_patterns import PatternTooBroad, minimatch
from agentworld_sim.engines.shell.live_files import FileStat
from agentworld_sim.engines.shell.toolkits._filesystem_paths import PathRefused, resolve_path
from agentworld_sim.engines.shell.toolkits._node import (
    NodeError,
    collation_key,
    date_text,
    node_error,
    pad_end,
    size_text,
)
from agentworld_sim.engines.shell.turn import ShellTurn


def names(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`list_directory`: a line for each name."""
    path = resolve_path(turn, arguments["path"])
    return "\n".join(f"{_label(stat)} {name}" for name, stat in _entries(turn, path))


def sizes(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`list_directory_with_sizes`: a table and its sums."""
    path = resolve_path(turn, arguments["path"])
    found = [
        (name, stat.kind == "directory", _size(turn, f"{path}/{name}"))
        for name, stat in _entries(turn, path)
    ]
    if arguments.get("sortBy") == "size":
        ordered = sorted(found, key=lambda one: -one[2])
    else:
        ordered = sorted(found, key=lambda one: collation_key(one[0]))
    lines = [
        f"{'[DIR]' if is_directory else '[FILE]'} {pad_end(name, 30)}"
        f" {'' if is_directory else size_text(size).rjust(10)}"
        for name, is_directory, size in ordered
    ]
    files = [size for _, is_directory, size in found if not is_directory]
    return "\n".join(
        [
            *lines,
            "",
            f"Total: {len(files)} files, {len(found) - len(files)} directories",
            f"Combined size: {size_text(sum(files))}",
        ]
    )


def tree(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`directory_tree`: nested JSON. Links are shown as files and not followed."""
    root: str = arguments["path"]
    excluded: Sequence[str] = arguments.get("excludePatterns", ())

    def below(path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for name, stat in _entries(turn, resolve_path(turn, path)):
            inner = os.path.normpath(f"{path}/{name}" if path else name)
            if _is_excluded(os.path.relpath(inner, root or "."), excluded):
                continue
            is_directory = stat.kind == "directory"
            entry: dict[str, Any] = {"name": name, "type": "directory" if is_directory else "file"}
            if is_directory:
                entry["children"] = below(inner)
            found.append(entry)
        return found

    return json.dumps(below(root), indent=2, ensure_ascii=False)


def search(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`search_files`: full paths, in the order of the walk."""
    root = resolve_path(turn, arguments["path"])
    pattern: str = arguments["pattern"]
    excluded: Sequence[str] = arguments.get("excludePatterns", ())
    found: list[str] = []

    def look(path: str) -> None:
        for name, stat in _entries(turn, path):
            full = f"{path.rstrip('/')}/{name}"
            relative = full[len(root.rstrip("/")) + 1 :]
            try:
                resolve_path(turn, full)
                if any(minimatch(relative, one) for one in excluded):
                    continue
                if minimatch(relative, pattern):
                    found.append(full)
                if stat.kind == "directory":
                    look(full)
            except (PathRefused, NodeError, PatternTooBroad):
                continue

    look(root)
    return "\n".join(found) or "No matches found"


def info(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`get_file_info`. The world keeps one time for a file, so its three times are the same."""
    path = resolve_path(turn, arguments["path"])
    try:
        stat = turn.live.files.stat(path)
    except OSError as error:
        raise node_error(error, "stat", path) from None
    when = date_text(stat.mtime_us)
    return "\n".join(
        [
            f"size: {stat.size}",
            f"created: {when}",
            f"modified: {when}",
            f"accessed: {when}",
            f"isDirectory: {str(stat.kind == 'directory').lower()}",
            f"isFile: {str(stat.kind == 'file').lower()}",
            f"permissions: {stat.mode & 0o777:03o}",
        ]
    )


def _entries(turn: ShellTurn, path: str) -> Iterator[tuple[str, FileStat]]:
    files = turn.live.files
    try:
        found = files.listdir(path)
    except OSError as error:
        raise node_error(error, "scandir", path) from None
    for name in found:
        yield name, files.lstat(f"{path.rstrip('/')}/{name}")


def _label(stat: FileStat) -> str:
    return "[DIR]" if stat.kind == "directory" else "[FILE]"


def _size(turn: ShellTurn, path: str) -> int:
    try:
        return turn.live.files.stat(path).size
    except OSError:
        return 0


def _is_excluded(relative: str, patterns: Sequence[str]) -> bool:
    for pattern in patterns:
        forms = [pattern] if "*" in pattern else [pattern, f"**/{pattern}", f"**/{pattern}/**"]
        try:
            if any(minimatch(relative, form) for form in forms):
                return True
        except PatternTooBroad:
            continue
    return False
