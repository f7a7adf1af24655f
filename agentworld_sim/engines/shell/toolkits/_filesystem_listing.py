"""Which paths the filesystem server takes, what it says of the others, and how it looks around."""

from __future__ import annotations

import errno
import json
import os.path
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentworld_sim.engines.shell.glob_patterns import PatternTooBroad, minimatch
from agentworld_sim.engines.shell.live_files import FileStat
from agentworld_sim.engines.shell.toolkits._node import (
    SPACE,
    NodeError,
    collation_key,
    date_text,
    node_error,
    pad_end,
    size_text,
)
from agentworld_sim.engines.shell.turn import ShellTurn
from agentworld_sim.types.files import normal_path

LONGEST_NAME = 255
"""Bytes in one part of a path on Linux."""

LONGEST_PATH = 4096


class PathRefused(Exception):
    """The server's own refusal of a path."""


def allowed_directories(turn: ShellTurn) -> Sequence[str]:
    """Where the tools may work: what the scenario says, else the working directory, then all."""
    machine = turn.live.machine
    if machine.allowed_directories:
        return machine.allowed_directories
    return tuple(dict.fromkeys((machine.workdir, "/")))


def resolve_path(turn: ShellTurn, path: str) -> str:
    """The real path that `path` stands for; its last parts may not exist.

    Raises:
        PathRefused: it lies outside the allowed directories, or nothing there could be made.
        NodeError: the file system fails on the way.
    """
    allowed = allowed_directories(turn)
    absolute = _absolute(turn, path, allowed)
    if not _within(_normalise(absolute), allowed):
        raise PathRefused(
            f"Access denied - path outside allowed directories: {absolute} not in"
            f" {', '.join(allowed)}"
        )
    try:
        real = real_path(turn, absolute)
    except NodeError as error:
        if error.code != errno.ENOENT:
            raise
        return _new_path(turn, absolute, allowed)
    _require_inside(real, allowed)
    return real


def real_path(turn: ShellTurn, path: str) -> str:
    """`path` without links; it must exist.

    Raises:
        NodeError: it does not, or a part of it is no directory.
    """
    if len(path.encode("utf-8", "surrogatepass")) >= LONGEST_PATH or any(
        len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME for part in path.split("/")
    ):
        raise NodeError(errno.ENAMETOOLONG, "realpath", path)
    files = turn.live.files
    try:
        real = files.realpath(path)
        files.lstat(real)
    except OSError as error:
        raise node_error(error, "realpath", path) from None
    return real


def _absolute(turn: ShellTurn, path: str, allowed: Sequence[str]) -> str:
    if path == "~" or path.startswith("~/"):
        path = turn.live.machine.home + path[1:]
    if re.match(r"[A-Za-z]:(?:[\\/]|$)", path):
        raise PathRefused(f"Access denied - Windows-style path received on a POSIX host: {path}")
    if path.startswith("/"):
        return normal_path(path)
    candidates = [normal_path(f"{directory}/{path}") for directory in allowed]
    inside = (one for one in candidates if _within(_normalise(one), allowed))
    return next(inside, candidates[0])


def _normalise(path: str) -> str:
    """Without the blanks and quotes that people copy along; only for the question who may."""
    return re.sub(r"""^["']|["']$""", "", path.strip(SPACE))


def _within(path: str, allowed: Sequence[str]) -> bool:
    if not path or "\0" in path:
        return False
    # A path that lost its beginning is one below the server's own working directory.
    whole = normal_path(path if path.startswith("/") else f"/{path}")
    return any(
        whole == one or whole.startswith(one.rstrip("/") + "/") for one in map(normal_path, allowed)
    )


def _require_inside(real: str, allowed: Sequence[str]) -> None:
    if not _within(_normalise(real), allowed):
        raise PathRefused(
            f"Access denied - symlink target outside allowed directories: {real} not in"
            f" {', '.join(allowed)}"
        )


def _new_path(turn: ShellTurn, absolute: str, allowed: Sequence[str]) -> str:
    """Where a path would be made; names are found in either normal form of Unicode."""
    above = [one for one in allowed if _within(_normalise(absolute), [one])]
    if not above:
        return absolute
    top = max(above, key=len)
    try:
        current = real_path(turn, top)
        parts = [part for part in absolute[len(top) :].split("/") if part]
        for number, part in enumerate(parts):
            found = _entry(turn, current, part)
            if found is None:
                return "/".join([current.rstrip("/"), *parts[number:]])
            current = real_path(turn, f"{current.rstrip('/')}/{found}")
            _require_inside(current, allowed)
    except NodeError as error:
        if error.code != errno.ENOENT:
            raise
        parent = absolute.rpartition("/")[0] or "/"
        raise PathRefused(f"Parent directory does not exist: {parent}") from None
    return current


def _entry(turn: ShellTurn, directory: str, name: str) -> str | None:
    try:
        names = turn.live.files.listdir(directory)
    except OSError as error:
        raise node_error(error, "scandir", directory) from None
    if name in names:
        return name
    wanted = unicodedata.normalize("NFC", name)
    same = [one for one in names if unicodedata.normalize("NFC", one) == wanted]
    if len(same) > 1:
        raise PathRefused(f"Ambiguous Unicode path component: {name}")
    return same[0] if same else None


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
        found = sorted(files.listdir(path))
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
