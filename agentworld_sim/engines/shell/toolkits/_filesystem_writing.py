"""Writing, as the filesystem server does it."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Mapping
from typing import Any

from agentworld_sim.engines.shell.toolkits import _filesystem_edits as edits
from agentworld_sim.engines.shell.toolkits._filesystem_paths import Refused, located
from agentworld_sim.engines.shell.toolkits._filesystem_reading import content
from agentworld_sim.engines.shell.toolkits._node import NodeError, node_error
from agentworld_sim.engines.shell.turn import ShellTurn


def write(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`write_file`: a whole file. Directories are not made for it."""
    path = located(turn, arguments["path"])
    _put(turn, path, arguments["content"])
    return f"Successfully wrote to {arguments['path']}"


def edit(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`edit_file`: what changed, or would change, as a patch."""
    path = located(turn, arguments["path"])
    before = edits.plain(content(turn, path).decode("utf-8", "replace"))
    try:
        after = edits.edited(before, arguments["edits"])
    except edits.NoMatch as error:
        raise Refused(str(error)) from None
    if not arguments.get("dryRun", False):
        _put(turn, path, after)
    return edits.shown(path, before, after)


def mkdir(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`create_directory`: with all above it; one that is there is left as it is."""
    path = located(turn, arguments["path"])
    files = turn.live.files
    if files.exists(path):
        if files.stat(path).kind != "directory":
            raise NodeError(errno.EEXIST, "mkdir", path)
    else:
        try:
            files.mkdir(path, parents=True)
        except OSError as error:
            raise node_error(error, "mkdir", path) from None
        turn.live.note_file_change()
    return f"Successfully created directory {arguments['path']}"


def move(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`move_file`: to a name that is free."""
    source, target = located(turn, arguments["source"]), located(turn, arguments["destination"])
    files = turn.live.files
    try:
        files.lstat(target)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise node_error(error, "lstat", target) from None
    else:
        raise Refused(f"Destination already exists: {target}")
    try:
        files.lstat(source)
        files.lstat(target.rpartition("/")[0] or "/")
        if target.startswith(source.rstrip("/") + "/"):
            raise NodeError(errno.EINVAL, "rename", source, target)
        files.rename(source, target)
    except OSError as error:
        raise node_error(error, "rename", source, target) from None
    turn.live.note_file_change()
    return f"Successfully moved {arguments['source']} to {arguments['destination']}"


def _put(turn: ShellTurn, path: str, text: str) -> None:
    files = turn.live.files
    try:
        if files.exists(path) and files.stat(path).kind == "directory":
            # It writes another file first and puts that in place.
            name = hashlib.sha256(f"{path}\0{files.clock.now_us()}".encode()).hexdigest()[:32]
            raise NodeError(errno.EISDIR, "rename", f"{path}.{name}.tmp", path)
        files.write(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise node_error(error, "open", path) from None
    turn.live.note_file_change()
