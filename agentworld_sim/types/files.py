"""Files as values: an immutable tree of entries whose contents live in a blob store.

A tree is a mapping from absolute path to `FileEntry`. The root directory `/` is always there. Parents
are always present as directories; `FileTree.from_entries` holds that rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

EntryKind = Literal["file", "directory", "symlink", "fifo"]

BlobId = str
"""BLAKE2b-160 of the content, in hex."""


def blob_id(data: bytes) -> BlobId:
    """The name of `data` in every blob store."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


class Blobs(Protocol):
    """Content-addressed bytes."""

    def put(self, data: bytes) -> BlobId: ...
    def get(self, blob: BlobId) -> bytes:
        """Raises `KeyError` for an unknown id."""
        ...


class MemoryBlobs:
    """Blobs in a dictionary."""

    def __init__(self) -> None:
        self._data: dict[BlobId, bytes] = {}

    def put(self, data: bytes) -> BlobId:
        name = blob_id(data)
        self._data.setdefault(name, data)
        return name

    def get(self, blob: BlobId) -> bytes:
        return self._data[blob]

    def discard(self, blob: BlobId) -> None:
        self._data.pop(blob, None)

    def __contains__(self, blob: object) -> bool:
        return blob in self._data


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One path of a world: what `lstat` tells, and where the content lies."""

    kind: EntryKind
    mode: int = 0o644
    """Permission bits."""
    mtime_us: int = 0
    """Microseconds since the epoch, on the world's clock."""
    content: str = ""
    """A blob id for a file, the target for a symlink, empty otherwise."""
    size: int = 0
    """Bytes of content; 0 for everything but files."""
    owner: str = "root"
    group: str = "root"

    def to_json(self) -> list[object]:
        return [
            self.kind,
            self.mode,
            self.mtime_us,
            self.content,
            self.size,
            self.owner,
            self.group,
        ]

    @classmethod
    def from_json(cls, value: object) -> FileEntry:
        return cls(*cast("Any", value))


def parent_of(path: str) -> str:
    """`/a/b` → `/a`; `/a` → `/`."""
    return path.rpartition("/")[0] or "/"


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder, or something in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class FileTree(Mapping[str, FileEntry]):
    """An immutable mapping of absolute paths to entries."""

    __slots__ = ("_entries",)

    def __init__(self, entries: dict[str, FileEntry]) -> None:
        """Takes ownership of `entries`; use `from_entries` for anything not already complete."""
        self._entries = entries

    @classmethod
    def from_entries(
        cls, entries: Iterable[tuple[str, FileEntry]], *, directory_mtime_us: int = 0
    ) -> FileTree:
        """A tree with all parent directories filled in (mode 0755).

        Raises:
            ValueError: a path is not absolute and normal, or a parent is not a directory.
        """
        found = dict(entries)
        for path in list(found):
            if not path.startswith("/") or (path != "/" and path != normal_path(path)):
                raise ValueError(f"not an absolute, normal path: {path!r}")
            while path != "/":
                path = parent_of(path)
                above = found.setdefault(path, FileEntry("directory", 0o755, directory_mtime_us))
                if above.kind != "directory":
                    raise ValueError(f"{path!r} is a {above.kind}, not a directory")
        found.setdefault("/", FileEntry("directory", 0o755, directory_mtime_us))
        return cls(dict(sorted(found.items())))

    def __getitem__(self, path: str) -> FileEntry:
        return self._entries[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, path: object) -> bool:
        return path in self._entries

    def __repr__(self) -> str:
        return f"FileTree({len(self._entries)} entries)"

    def with_changes(self, changes: Mapping[str, FileEntry | None]) -> FileTree:
        """A tree with `changes` applied: an entry is written, `None` removes the path alone."""
        entries = dict(self._entries)
        for path, entry in changes.items():
            if entry is None:
                entries.pop(path, None)
            else:
                entries[path] = entry
        return FileTree(entries)

    def with_entries(
        self, added: Mapping[str, FileEntry], *, directory_mtime_us: int = 0
    ) -> FileTree:
        """A tree with more entries and their parents. A directory that is there already stays as it is.

        Raises:
            ValueError: as `from_entries`.
        """
        new = {p: one for p, one in added.items() if one.kind != "directory" or p not in self}
        if not new:
            return self
        entries = {**self._entries, **new}
        return self.from_entries(entries.items(), directory_mtime_us=directory_mtime_us)

    def changes_to(self, other: FileTree) -> dict[str, FileEntry | None]:
        """What `with_changes` needs to make this tree equal to `other`; paths in byte order."""
        mine, theirs = self._entries, other._entries
        changed: dict[str, FileEntry | None] = {
            path: entry
            for path, entry in theirs.items()
            if (held := mine.get(path)) is not entry and held != entry
        }
        changed.update((path, None) for path in mine if path not in theirs)
        return dict(sorted(changed.items()))


def normal_path(path: str) -> str:
    """`/a//b/../c/` → `/a/c`. The root stays `/`."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


MAX_LINKS = 40
"""Symbolic links that are followed on the way to a file, as in Linux."""


def without_links(files: Mapping[str, FileEntry], path: str) -> str | None:
    """`path` without symbolic links; `None` when they go in circles."""
    left = [part for part in path.split("/") if part and part != "."]
    done, links = "/", 0
    while left:
        part = left.pop(0)
        done = normal_path(f"{done}/{part}")
        entry = files.get(done)
        if entry is None or entry.kind != "symlink":
            continue
        links += 1
        if links > MAX_LINKS:
            return None
        target = entry.content
        done = "/" if target.startswith("/") else normal_path(f"{done}/..")
        left = [one for one in target.split("/") if one and one != "."] + left
    return done


OWNERS_BITS = 0o700
"""What of the modes is the same on all hosts that check out a scenario: each host's umask makes the others."""


def content_sum(tree: Mapping[str, FileEntry], modes: int = OWNERS_BITS) -> int:
    """A hash of all files without their times; of their modes the bits in `modes`."""
    return sum(_entry_hash(path, entry, entry.mode & modes) for path, entry in tree.items())


def _entry_hash(path: str, entry: FileEntry, mode: int) -> int:
    text = f"{path}\0{entry.kind}\0{mode}\0{entry.content}\0{entry.owner}\0{entry.group}"
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=20).digest())
