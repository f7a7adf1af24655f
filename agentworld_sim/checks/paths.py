"""Which file a call names, and what is known of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from agentworld_sim.ports.checks import CheckInput
from agentworld_sim.types.files import Blobs, normal_path
from agentworld_sim.types.state import WorldState

PATH_ARGUMENTS = (
    *("path", "file_path", "filepath", "filePath", "filename", "file_name", "absolute_path"),
    *("file", "target_file", "dir_path", "directory", "directory_path", "dir", "folder", "uri"),
)
_LINKS = 40

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """`mcp__fs__readFile` → `mcp`, `fs`, `read`, `file`."""
    return tuple(word.lower() for word in _WORD.findall(name))


def path_of(arguments: Mapping[str, Any]) -> str | None:
    """The one path that a call names, normal when absolute; `None` without one."""
    for name in PATH_ARGUMENTS:
        value: object = arguments.get(name)
        if isinstance(value, str) and value:
            return clean_path(value)
    return None


def clean_path(path: str) -> str:
    """One spelling of a path; a relative one stays relative."""
    path = path.removeprefix("file://")
    if path.startswith("/"):
        return normal_path(path)
    return normal_path(path)[1:] or "."


def content_at(state: WorldState, blobs: Blobs, path: str) -> bytes | None:
    """What the world's file holds, through symbolic links; `None` when there is no such file."""
    for _ in range(_LINKS):
        entry = state.files.get(path)
        if entry is None or entry.kind not in ("file", "symlink"):
            return None
        if entry.kind == "file":
            try:
                return blobs.get(entry.content) if entry.content else b""
            except KeyError:
                return None
        target = entry.content
        path = normal_path(target if target.startswith("/") else f"{path}/../{target}")
    return None


def named_texts(given: CheckInput) -> Iterator[str]:
    """The text of each file of the world that the call's arguments name, by absolute path."""
    for value in given.call.arguments.values():
        if isinstance(value, str) and value.startswith(("/", "file://")):
            data = content_at(given.before, given.blobs, clean_path(value))
            if data is not None:
                yield data.decode("utf-8", "replace")
