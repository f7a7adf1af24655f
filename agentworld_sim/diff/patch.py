"""One file's part of a patch, byte for byte as git writes it.

Format: git's `Documentation/diff-generate-patch.txt`, and `diff.c` for binary patches and quoting.
"""

from __future__ import annotations

import hashlib
import zlib
from base64 import b85encode
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

from agentworld_sim.types.files import Blobs, FileEntry, FileTree, normal_path

_BINARY_LINE = 52

_ESCAPES = dict(zip(b'\a\b\t\n\v\f\r"\\', [*'abtnvfr"\\'], strict=True))
"""Bytes that have a letter in C."""


@dataclass(frozen=True, slots=True)
class GitFile:
    """A file as git sees it."""

    mode: int
    """0o100644, 0o100755 or 0o120000."""
    data: bytes
    """The content, or the target of a link."""

    @property
    def is_link(self) -> bool:
        return self.mode == 0o120000

    @property
    def object_id(self) -> str:
        header = b"blob %d\0" % len(self.data)
        return hashlib.sha1(header + self.data, usedforsecurity=False).hexdigest()


def file_patch(path: str, before: GitFile | None, after: GitFile | None) -> str:
    """The patch of one path. Both sides present must both be links, or both be files."""
    lines = [f"diff --git {_quote('a/' + path)} {_quote('b/' + path)}\n"]
    old_id = before.object_id if before else "0" * 40
    new_id = after.object_id if after else "0" * 40
    index_mode = ""
    if before is None:
        assert after is not None
        lines.append(f"new file mode {after.mode:o}\n")
    elif after is None:
        lines.append(f"deleted file mode {before.mode:o}\n")
    elif before.mode != after.mode:
        lines.append(f"old mode {before.mode:o}\nnew mode {after.mode:o}\n")
    else:
        index_mode = f" {before.mode:o}"
    if old_id != new_id:
        # The full ids: git refuses a binary patch without them.
        lines.append(f"index {old_id}..{new_id}{index_mode}\n")
        lines.extend(_content(path, before, after))
    return "".join(lines)


def _content(path: str, before: GitFile | None, after: GitFile | None) -> Iterator[str]:
    old = before.data if before else b""
    new = after.data if after else b""
    old_lines, new_lines = _lines(old), _lines(new)
    if old_lines is None or new_lines is None:
        yield "GIT binary patch\n"
        yield from _literal(new)
        # The way back, so that `git apply --reverse` works as well.
        yield from _literal(old)
    elif old != new:
        was = _label("a/" + path) if before else "/dev/null"
        now = _label("b/" + path) if after else "/dev/null"
        yield from unified_diff(old_lines, new_lines, was, now)


def _lines(data: bytes) -> list[str] | None:
    """`None` for what has to go as a binary patch: a NUL, as in git, or bytes no text can hold."""
    if b"\0" in data:
        return None
    try:
        *lines, last = data.decode().split("\n")
    except UnicodeDecodeError:
        return None
    unended = [last + "\n\\ No newline at end of file\n"] if last else []
    return [line + "\n" for line in lines] + unended


def _literal(data: bytes) -> Iterator[str]:
    yield f"literal {len(data)}\n"
    packed = zlib.compress(data)
    for start in range(0, len(packed), _BINARY_LINE):
        chunk = packed[start : start + _BINARY_LINE]
        size = len(chunk)
        length = chr(ord("A") + size - 1) if size <= 26 else chr(ord("a") + size - 27)
        yield f"{length}{b85encode(chunk, pad=True).decode('ascii')}\n"
    yield "\n"


def _label(path: str) -> str:
    """git ends the name of a file that contains a space with a tab, to mark where it stops."""
    quoted = _quote(path)
    return quoted + "\t" if quoted == path and " " in path else quoted


def _quote(path: str) -> str:
    """C-style quotes around names with bytes outside printable ASCII (`core.quotePath`)."""
    data = path.encode()
    if all(0x20 <= byte < 0x7F and byte not in (0x22, 0x5C) for byte in data):
        return path
    escaped = (
        f"\\{_ESCAPES[byte]}"
        if byte in _ESCAPES
        else (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}")
        for byte in data
    )
    return '"' + "".join(escaped) + '"'


def patch_text(before: FileTree, after: FileTree, blobs: Blobs, *, root: str = "/") -> str:
    """A patch in git's own format that turns `before` into `after`; `git apply` accepts it.

    It says what git can say: files, whether they are executable, and symbolic links. Empty
    directories, owners, times, other permission bits and pipes are not part of it, and neither are
    paths inside a `.git` directory, which git refuses.

    Args:
        before: the older tree.
        after: the newer tree.
        blobs: the contents of both trees.
        root: paths are written relative to this directory, and only those below it.
    """
    prefix = normal_path(root).rstrip("/") + "/"
    parts: list[str] = []
    for path in sorted(before.changes_to(after), key=lambda path: path.encode()):
        relative = path.removeprefix(prefix)
        if not path.startswith(prefix) or _inside_git(relative):
            continue
        old, new = _git_file(before.get(path), blobs), _git_file(after.get(path), blobs)
        if old == new:
            continue
        if old and new and old.is_link != new.is_link:
            # git writes a change of type as a removal and an addition.
            parts += [file_patch(relative, old, None), file_patch(relative, None, new)]
        else:
            parts.append(file_patch(relative, old, new))
    return "".join(parts)


def _git_file(entry: FileEntry | None, blobs: Blobs) -> GitFile | None:
    if entry is None:
        return None
    if entry.kind == "file":
        return GitFile(0o100755 if entry.mode & 0o100 else 0o100644, blobs.get(entry.content))
    if entry.kind == "symlink":
        return GitFile(0o120000, entry.content.encode())
    return None


def _inside_git(relative: str) -> bool:
    return any(part.lower() == ".git" for part in relative.split("/"))
