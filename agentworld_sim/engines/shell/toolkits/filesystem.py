"""The tools of the reference server `@modelcontextprotocol/server-filesystem`, release 2026.8.

Held against recordings of the real server. Where it may work is the scenario's
`machine.allowed_directories`; without them, the machine's working directory and then all of it, as if
the server had been started with both.
"""

from __future__ import annotations

import base64
import errno
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from agentworld_sim.engines.shell.commands.diff_cmp import Sides, split_lines, unified_format
from agentworld_sim.engines.shell.line_differences import Change, edit_script
from agentworld_sim.engines.shell.toolkits import _filesystem_listing as listing
from agentworld_sim.engines.shell.toolkits._answers import error_answer, suffix_of
from agentworld_sim.engines.shell.toolkits._filesystem_listing import (
    PathRefused,
    allowed_directories,
    resolve_path,
)
from agentworld_sim.engines.shell.toolkits._node import SPACE, NodeError, indentation, node_error
from agentworld_sim.engines.shell.turn import Operation, ShellTurn
from agentworld_sim.types.turns import Observation


def _as_operation(operation: Callable[[ShellTurn, Mapping[str, Any]], str]) -> Operation:
    """An operation that says a text, or its error."""

    def run(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
        try:
            text = operation(turn, arguments)
        except (PathRefused, NodeError) as error:
            return error_answer(str(error))
        return Observation(text=text, structured={"content": text})

    return run


def read_media_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> Observation:
    try:
        block = _media(turn, arguments["path"])
    except (PathRefused, NodeError) as error:
        return error_answer(str(error))
    return Observation(text="", structured={"content": [block]}, content=(block,))


@_as_operation
def list_allowed_directories(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    return "\n".join(["Allowed directories:", *allowed_directories(turn)])


_TYPES = {
    **{suffix: f"image/{suffix}" for suffix in ("png", "jpeg", "gif", "webp", "bmp")},
    **{suffix: f"audio/{suffix}" for suffix in ("wav", "ogg", "flac")},
    "jpg": "image/jpeg",
    "svg": "image/svg+xml",
    "mp3": "audio/mpeg",
}


def _content(turn: ShellTurn, path: str) -> bytes:
    """What the file at a real path holds.

    Raises:
        NodeError: it is a directory, or not there.
    """
    files = turn.live.files
    try:
        return files.read(path)
    except IsADirectoryError as error:
        # It is opened before it turns out to be none that can be read.
        raise node_error(error, "read") from None
    except OSError as error:
        raise node_error(error, "open", path) from None


@_as_operation
def read_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """All of a file, its first lines, or its last."""
    path = resolve_path(turn, arguments["path"])
    head, tail = arguments.get("head"), arguments.get("tail")
    if head and tail:
        raise PathRefused("Cannot specify both head and tail parameters simultaneously")
    if tail and not turn.live.files.exists(path):
        # Its size is asked before it is opened.
        raise NodeError(errno.ENOENT, "stat", path)
    whole = _content(turn, path).decode("utf-8", "replace")
    if tail:
        return _tail(whole, tail)
    return _head(whole, head) if head else whole


@_as_operation
def read_multiple_files(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """Each under its name."""
    shown: list[str] = []
    for path in arguments["paths"]:
        try:
            data = _content(turn, resolve_path(turn, path))
        except (PathRefused, NodeError) as error:
            shown.append(f"{path}: Error - {error}")
        else:
            shown.append(f"{path}:\n{data.decode('utf-8', 'replace')}\n")
    return "\n---\n".join(shown)


def _media(turn: ShellTurn, path: str) -> dict[str, Any]:
    """`read_media_file`: a content block."""
    real = resolve_path(turn, path)
    data = base64.b64encode(_content(turn, real)).decode()
    kind = _TYPES.get(suffix_of(real)[1:], "")
    if kind:
        return {"type": kind.partition("/")[0], "data": data, "mimeType": kind}
    uri = "file://" + quote(real, safe="/!$&'()*+,;=:@~")
    resource = {"uri": uri, "mimeType": "application/octet-stream", "blob": data}
    return {"type": "resource", "resource": resource}


def _head(whole: str, count: float) -> str:
    if count < 0:
        return ""
    lines = whole.split("\n")
    if not lines[-1]:
        # What comes after the last newline is a line only if there is something.
        lines.pop()
    wanted = int(count) + (count % 1 > 0)
    return "\n".join(lines[:wanted])


def _tail(whole: str, count: float) -> str:
    if count <= 0 or not whole:
        return ""
    lines = whole.replace("\r\n", "\n").split("\n")
    return "\n".join(lines[-int(count) :] if int(count) else lines)


@_as_operation
def write_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """A whole file. Directories are not made for it."""
    path = resolve_path(turn, arguments["path"])
    _put(turn, path, arguments["content"])
    return f"Successfully wrote to {arguments['path']}"


@_as_operation
def edit_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """What changed, or would change, as a patch."""
    path = resolve_path(turn, arguments["path"])
    before = _plain(_content(turn, path).decode("utf-8", "replace"))
    after = _apply_edits(before, arguments["edits"])
    if not arguments.get("dryRun", False):
        _put(turn, path, after)
    return _patch_block(path, before, after)


@_as_operation
def create_directory(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """With all above it; one that is there is left as it is."""
    path = resolve_path(turn, arguments["path"])
    files = turn.live.files
    if files.exists(path):
        if files.stat(path).kind != "directory":
            raise NodeError(errno.EEXIST, "mkdir", path)
    else:
        try:
            files.mkdir(path, parents=True)
        except OSError as error:
            raise node_error(error, "mkdir", path) from None
    return f"Successfully created directory {arguments['path']}"


@_as_operation
def move_file(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """To a name that is free."""
    source, target = (
        resolve_path(turn, arguments["source"]),
        resolve_path(turn, arguments["destination"]),
    )
    files = turn.live.files
    try:
        files.lstat(target)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise node_error(error, "lstat", target) from None
    else:
        raise PathRefused(f"Destination already exists: {target}")
    try:
        files.lstat(source)
        files.lstat(target.rpartition("/")[0] or "/")
        if target.startswith(source.rstrip("/") + "/"):
            raise NodeError(errno.EINVAL, "rename", source, target)
        files.rename(source, target)
    except OSError as error:
        raise node_error(error, "rename", source, target) from None
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


def _apply_edits(text: str, edits: Sequence[Mapping[str, str]]) -> str:
    """`text` after all edits. Lines end in `\\n` only.

    Raises:
        PathRefused: the text of an edit is not there.
    """
    for edit in edits:
        old, new = _plain(edit["oldText"]), _plain(edit["newText"])
        if old in text:
            text = text.replace(old, new, 1)
            continue
        loosely = _replace_loosely(text.split("\n"), old.split("\n"), new.split("\n"))
        if loosely is None:
            raise PathRefused(f"Could not find exact match for edit:\n{edit['oldText']}")
        text = loosely
    return text


def _plain(text: str) -> str:
    """`text` with lines that end in `\\n`."""
    return text.replace("\r\n", "\n")


def _patch_block(path: str, before: str, after: str) -> str:
    """The patch in a block of its own, fenced so that nothing in it ends the block."""
    patch = two_files_patch(path, before, after)
    fence = "```"
    while fence in patch:
        fence += "`"
    return f"{fence}diff\n{patch}{fence}\n\n"


def _replace_loosely(lines: list[str], old: Sequence[str], new: Sequence[str]) -> str | None:
    """The text where lines are compared without the blanks around them."""
    wanted = [line.strip(SPACE) for line in old]
    bare = [line.strip(SPACE) for line in lines]
    for at in range(len(lines) - len(old) + 1):
        if bare[at : at + len(old)] == wanted:
            indent = indentation(lines[at])
            fitted = [_indent(number, line, indent, old) for number, line in enumerate(new)]
            return "\n".join([*lines[:at], *fitted, *lines[at + len(old) :]])
    return None


def _indent(number: int, line: str, indent: str, old: Sequence[str]) -> str:
    """One new line, moved as far as the matched text is from what the edit says."""
    bare = line.lstrip(SPACE)
    if number == 0:
        return indent + bare
    before = indentation(old[number]) if number < len(old) else ""
    now = indentation(line)
    if before and now:
        return indent + " " * max(0, len(now) - len(before)) + bare
    return line


CONTEXT = 4
"""Lines shown around a change."""


def two_files_patch(path: str, before: str, after: str) -> str:
    """The patch that makes `after` of `before`, both called `path`. Lines end in `\\n` only."""
    head = f"Index: {path}\n{'=' * 67}\n--- {path}\toriginal\n+++ {path}\tmodified\n"
    old, new = split_lines(before), split_lines(after)
    found: list[Change] = []
    i = j = 0
    for sign, count in edit_script(old, new):
        end_i, end_j = i + count * (sign != "+"), j + count * (sign != "-")
        if sign != " ":
            first = (
                found.pop() if found and (found[-1].old_end, found[-1].new_end) == (i, j) else None
            )
            start = (first.old_start, first.new_start) if first else (i, j)
            found.append(Change(start[0], end_i, start[1], end_j))
        i, j = end_i, end_j
    return head + "".join(unified_format(Sides(old, new, found), CONTEXT, _hunk_range))


def _hunk_range(start: int, end: int) -> str:
    # A side without lines is counted from the line before it.
    return f"{start + (end > start)},{end - start}"


read_text_file = read_file
list_directory = _as_operation(listing.names)
list_directory_with_sizes = _as_operation(listing.sizes)
directory_tree = _as_operation(listing.tree)
search_files = _as_operation(listing.search)
get_file_info = _as_operation(listing.info)
