"""Which paths the filesystem server takes, and what it says of the others."""

from __future__ import annotations

import errno
import re
import unicodedata
from collections.abc import Sequence

from agentworld_sim.engines.shell.toolkits._node import SPACE, NodeError, node_error
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
