"""Reading, as the filesystem server does it."""

from __future__ import annotations

import base64
import errno
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from agentworld_sim.engines.shell.toolkits._filesystem_paths import Refused, located
from agentworld_sim.engines.shell.toolkits._node import NodeError, node_error
from agentworld_sim.engines.shell.turn import ShellTurn

_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "bmp": "image/bmp",
    "svg": "image/svg+xml",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
}


def content(turn: ShellTurn, path: str) -> bytes:
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


def text(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`read_text_file`: all of a file, its first lines, or its last."""
    path = located(turn, arguments["path"])
    head, tail = arguments.get("head"), arguments.get("tail")
    if head and tail:
        raise Refused("Cannot specify both head and tail parameters simultaneously")
    if tail and not turn.live.files.exists(path):
        # Its size is asked before it is opened.
        raise NodeError(errno.ENOENT, "stat", path)
    whole = content(turn, path).decode("utf-8", "replace")
    if tail:
        return _tail(whole, tail)
    return _head(whole, head) if head else whole


def several(turn: ShellTurn, arguments: Mapping[str, Any]) -> str:
    """`read_multiple_files`: each under its name."""
    shown: list[str] = []
    for path in arguments["paths"]:
        try:
            data = content(turn, located(turn, path))
        except (Refused, NodeError) as error:
            shown.append(f"{path}: Error - {error}")
        else:
            shown.append(f"{path}:\n{data.decode('utf-8', 'replace')}\n")
    return "\n---\n".join(shown)


def media(turn: ShellTurn, path: str) -> dict[str, Any]:
    """`read_media_file`: a content block."""
    real = located(turn, path)
    data = base64.b64encode(content(turn, real)).decode()
    stem, dot, suffix = real.rpartition("/")[2].rpartition(".")
    kind = _TYPES.get(suffix.lower(), "") if stem and dot else ""
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
