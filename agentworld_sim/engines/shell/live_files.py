"""The live files of a world: bashkit's virtual file system, seen with the world's clock and owners."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, cast

from bashkit import FileSystem

from agentworld_sim.engines.shell.disk_conditions import DiskFiller
from agentworld_sim.engines.shell.file_times import TurnClock, Umask, set_times
from agentworld_sim.engines.shell.stack_guard import call_deep
from agentworld_sim.types.conditions import Conditions
from agentworld_sim.types.files import (
    MAX_LINKS,
    Blobs,
    FileEntry,
    FileTree,
    MemoryBlobs,
    blob_id,
    normal_path,
    parent_of,
)

T = TypeVar("T")

FileKind = Literal["file", "directory", "symlink", "fifo"]


@dataclass(frozen=True, slots=True)
class FileStat:
    """What `lstat` says of one path. Times are microseconds since the epoch, on the world's clock."""

    kind: FileKind
    size: int
    mode: int
    """Permission bits only, for example `0o644`."""
    mtime_us: int
    owner: str = "root"
    group: str = "root"
    nlink: int = 1
    inode: int = 0
    """Stable for a path within one world; 0 when unknown."""


Stamp = tuple[str, int, int, float, float]
"""kind, size, mode, modified, created: what tells that a file changed."""

SKIPPED_TOP = frozenset({"/dev"})
"""bashkit makes these itself in every file system; they are no part of the world's content."""

_OF_NOW = ("/proc", "/dev")
"""Made by the kernel on request, so always as young as the present."""

MADE_BY_BASHKIT = frozenset({"dev", "home", "tmp"})
"""Directories that every new `FileSystem` holds, also one that is only a mount."""

_ERRNO = (
    ("not a directory", errno.ENOTDIR),
    ("is a directory", errno.EISDIR),
    ("directory not empty", errno.ENOTEMPTY),
    ("not found", errno.ENOENT),
    ("no such file", errno.ENOENT),
    ("exists", errno.EEXIST),
    ("over directory", errno.EISDIR),
    ("read-only", errno.EROFS),
    ("too large", errno.EFBIG),
    ("limit", errno.ENOSPC),
    ("permission", errno.EACCES),
    # Control characters in a name: some file systems refuse them.
    ("unsafe character", errno.EINVAL),
)


@lru_cache(maxsize=65_536)
def directory_place(path: str) -> str:
    """What orders the entries of a directory: as good as chance, and always the same for one path."""
    return blob_id(path.encode("utf-8", "surrogateescape"))


def os_error(error: Exception, path: str) -> OSError:
    """The `OSError` a real kernel would have raised."""
    text = str(error).lower()
    number = next((code for words, code in _ERRNO if words in text), errno.EIO)
    return OSError(number, os.strerror(number), path)


class LiveFiles:
    """The live files of one world, over one `bashkit.FileSystem`.

    Paths are absolute; relative ones are the caller's mistake. Failures raise `OSError` with a real `errno`
    (`ENOENT`, `ENOTDIR`, `EISDIR`, `EEXIST`, `ENOSPC`, …), so that a command can print
    `os.strerror(error.errno)`. Beside what bashkit keeps, it holds the owners of files and the times of symbolic links.
    """

    def __init__(self, mounts: Mapping[str, FileSystem] | None = None) -> None:
        """An empty file system. What is mounted is shared by many worlds, and no part of their content."""
        self.fs = FileSystem()
        self._mounts = dict(mounts or {})
        for name in ("/home", "/tmp"):
            self.fs.remove(name, True)
        self.clock = TurnClock(0)
        self.mask = Umask()
        self.passing: FileSystem | None = None
        """The running interpreter's own view: it alone has the pipes of `<(…)`."""
        self._owners: dict[str, tuple[str, str]] = {}
        self._owners_before: dict[str, tuple[str, str]] = {}
        self._link_times: dict[str, int] = {}
        self._stamps: dict[str, Stamp] = {}
        self._tree = FileTree({})
        self.conditions = Conditions()
        """What holds for the running turn. What writes here asks them; what bashkit writes finds read-only mounts."""
        self.filler = DiskFiller(self.fs)
        self.has_writes = False
        """Whether anything but bashkit wrote in this turn."""

    # What commands use

    def lstat(self, path: str) -> FileStat:
        path = self._place(path)
        fs, inner = self._route(path)
        return self.status_of(path, self._do(path, lambda: fs.stat(inner)))

    def status_of(self, path: str, info: dict[str, Any]) -> FileStat:
        """What `lstat` says of `path`, from what `entries_of` its folder says of it."""
        kind = cast("FileKind", info["file_type"])
        modified = cast("float", info["modified"])
        mtime_us = self.clock.world_time(modified)
        if kind == "symlink" and path in self._link_times:
            mtime_us = self._link_times[path]
        elif path.startswith(_OF_NOW):
            mtime_us = self.clock.now_us()
        elif mtime_us is None:
            mtime_us = round(modified * 1_000_000)
        owner, group = self._owners.get(path, ("root", "root"))
        return FileStat(
            kind=kind,
            size=4096 if kind == "directory" else cast("int", info["size"]),
            mode=self._mode(path, info),
            mtime_us=mtime_us,
            owner=owner,
            group=group,
            nlink=self._links_of(path) if kind == "directory" else 1,
            inode=131_072 + int(directory_place(path)[:5], 16),
        )

    def _mode(self, path: str, info: dict[str, Any]) -> int:
        mode = cast("int", info["mode"])
        if not self.mask.used or info["file_type"] != "file" or path in self._stamps:
            return mode
        return self.mask.mode_of(path, mode, cast("float", info["created"]))

    def stat(self, path: str) -> FileStat:
        """Follows symbolic links, as `lstat` does not."""
        return self.lstat(self.realpath(path))

    def exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except OSError:
            return False
        return True

    def read(self, path: str) -> bytes:
        target = self.realpath(path)
        fs, inner = self._route(target)
        return self._do(path, lambda: fs.read_file(inner))

    def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        target = self._writable(path)
        self._do(path, lambda: self.fs.write_file(target, data))
        if mode is not None:
            self.mask.explicit.add(target)
            self._do(path, lambda: self.fs.chmod(target, mode))

    def append(self, path: str, data: bytes) -> None:
        target = self._writable(path)
        self._do(path, lambda: self.fs.append_file(target, data))

    def listdir(self, path: str) -> list[str]:
        """Names in the order of the directory, without `.` and `..`."""
        return list(self.entries_of(path))

    def entries(self, path: str) -> list[tuple[str, FileStat]]:
        """The same with what `lstat` says of each."""
        target = self.realpath(path)
        prefix = target.rstrip("/")
        found: list[tuple[str, FileStat]] = []
        for name, info in self.entries_of(target).items():
            full = f"{prefix}/{name}"
            mounted = full in self._mounts
            found.append((name, self.lstat(full) if mounted else self.status_of(full, info)))
        return found

    def entries_of(self, path: str) -> dict[str, dict[str, Any]]:
        """Names in the order of the directory and what bashkit says of each."""
        target = self.realpath(path)
        fs, inner = self._route(target)
        entries = self._do(path, lambda: fs.read_dir(inner))
        entries.sort(key=lambda entry: directory_place(f"{target.rstrip('/')}/{entry['name']}"))
        hidden = MADE_BY_BASHKIT if fs is not self.fs and inner == "/" else ()
        return {
            entry["name"]: entry["metadata"] for entry in entries if entry["name"] not in hidden
        }

    def mkdir(self, path: str, *, parents: bool = False, mode: int | None = None) -> None:
        target = normal_path(path)
        if parents:
            if self.exists(target):
                return
            self.mkdir(parent_of(target), parents=True)
        real = self.realpath(parent_of(target)).rstrip("/") + "/" + target.rpartition("/")[2]
        self._require_writable(real)
        self._do(path, lambda: self.fs.mkdir(real))
        if mode is not None:
            self._do(path, lambda: self.fs.chmod(real, mode))

    def remove(self, path: str, *, recursive: bool = False) -> None:
        target = normal_path(path)
        self._require_writable(target)
        self._do(path, lambda: self.fs.remove(target, recursive))
        for held in (self._owners, self._link_times):
            for gone in [p for p in held if p == target or p.startswith(target + "/")]:
                del held[gone]

    def rename(self, source: str, target: str) -> None:
        source, target = normal_path(source), normal_path(target)
        self._require_writable(source, target)
        self._do(source, lambda: self.fs.rename(source, target))
        if source in self.mask.explicit:
            self.mask.explicit.add(target)
        for held in (self._owners, self._link_times):
            for path in [p for p in held if p == source or p.startswith(source + "/")]:
                held[target + path[len(source) :]] = held.pop(path)  # pyright: ignore[reportArgumentType]

    def symlink(self, target: str, path: str) -> None:
        # bashkit replaces whatever is there, a whole directory included; the kernel refuses.
        try:
            self.lstat(path)
        except FileNotFoundError:
            self._require_writable(self._place(path))
            self._do(path, lambda: self.fs.symlink(target, normal_path(path)))
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def readlink(self, path: str) -> str:
        if self.lstat(path).kind != "symlink":
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        parent, _, name = normal_path(path).rpartition("/")
        fs, inner = self._route(f"{self.realpath(parent or '/').rstrip('/')}/{name}")
        return self._do(path, lambda: fs.read_link(inner))

    def realpath(self, path: str) -> str:
        """Symbolic links resolved; the last part may be missing, its parents may not."""
        if path.startswith("/dev/fd/"):
            return path
        done, todo, hops = "", normal_path(path).strip("/").split("/"), 0
        while todo and todo != [""]:
            step = f"{done}/{todo.pop(0)}"
            fs, inner = self._route(step)
            try:
                info = fs.stat(inner)
            except RuntimeError as error:
                if todo:
                    raise os_error(error, path) from None
                return step
            if info["file_type"] != "symlink":
                done = step
                continue
            hops += 1
            if hops > MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = fs.read_link(inner)
            base = target if target.startswith("/") else f"{done}/{target}"
            done, todo = "", [*normal_path(base).strip("/").split("/"), *todo]
        return done or "/"

    def chmod(self, path: str, mode: int) -> None:
        target = self.realpath(path)
        self._require_writable(target)
        self.mask.explicit.add(target)
        self._do(path, lambda: self.fs.chmod(target, mode))

    def chown(
        self, path: str, owner: str | None, group: str | None, *, follow: bool = True
    ) -> None:
        target = self.realpath(path) if follow else self._place(path)
        self._require_writable(target)
        self._info(target)
        old_owner, old_group = self._owners.get(target, ("root", "root"))
        self._owners[target] = (owner or old_owner, group or old_group)

    def set_mtime(self, path: str, mtime_us: int, *, follow: bool = True) -> None:
        target = self.realpath(path) if follow else self._place(path)
        self._require_writable(target)
        if self._info(target)["file_type"] == "symlink":
            self._link_times[target] = mtime_us
        else:
            # Inside a callback of an interpreter, which blocks others on its thread.
            call_deep(lambda: set_times(self.fs, {mtime_us: [target]}))

    def take_device(self, path: str) -> bytes:
        """What was written to a file in `/dev`, which is removed; nothing where there is none."""
        fs, inner = self._route(path)
        if not fs.exists(inner):
            return b""
        data = fs.read_file(inner)
        fs.remove(inner)
        return data

    def walk(self, top: str) -> Iterator[tuple[str, FileStat]]:
        """`top` itself and all below it, parents first, in the order of directories; links not followed."""
        info = self.lstat(top)
        yield top, info
        if info.kind == "directory":
            for name in self.listdir(top):
                yield from self.walk(f"{top.rstrip('/')}/{name}")

    def _require_writable(self, *paths: str) -> None:
        self.has_writes = True
        for path in paths:
            number = self.conditions.error_at(path)
            if number is None and self._is_mounted(path):
                number = errno.EROFS
            if number is not None:
                raise OSError(number, os.strerror(number), path)

    def _is_mounted(self, path: str) -> bool:
        """Whether it lies in a file system that nobody can change. What is written to a device is gone; bashkit's own
        `/dev` lies under the mounted one."""
        mounted = self._route(path)[0] is not self.fs and path not in self._mounts
        return mounted and not path.startswith("/dev/")

    # What the engine uses

    def materialise(self, tree: FileTree, blobs: Blobs) -> None:
        """Makes the files those of `tree`, times included. What is there already is not written again."""
        changes = self._tree.changes_to(tree)
        for path, entry in reversed(changes.items()):
            before = self._tree.get(path)
            self._owners.pop(path, None)
            self._link_times.pop(path, None)
            if before is not None and (entry is None or entry.kind != before.kind):
                self.fs.remove(path, True)
        for path, entry in changes.items():
            if entry is not None and path != "/":
                self._make(path, entry, blobs)
        by_time: dict[int, list[str]] = {}
        for path, entry in changes.items():
            if entry is not None and entry.kind != "symlink":
                by_time.setdefault(entry.mtime_us, []).append(path)
        if by_time:
            set_times(self.fs, by_time)
        for path in changes:
            self._stamps.pop(path, None)
            if path in tree and path not in SKIPPED_TOP:
                self._stamps[path] = _stamp(self.fs.stat(path))
        self._tree = tree
        self._owners_before = dict(self._owners)

    def _make(self, path: str, entry: FileEntry, blobs: Blobs) -> None:
        if entry.kind == "directory":
            self.fs.mkdir(path, True)
        elif entry.kind == "symlink":
            self.fs.symlink(entry.content, path)
            self._link_times[path] = entry.mtime_us
        else:
            self.fs.write_file(path, blobs.get(entry.content) if entry.content else b"")
        usual = 0o755 if entry.kind == "directory" else 0o644
        if entry.kind != "symlink" and (entry.mode != usual or path in self._tree):
            self.fs.chmod(path, entry.mode)
        if (entry.owner, entry.group) != ("root", "root"):
            self._owners[path] = (entry.owner, entry.group)

    def collect(self, blobs: Blobs, *, suspicious: bool) -> dict[str, FileEntry | None]:
        """What changed since the last `collect` or `materialise`, with world times set.

        With `suspicious`, contents are compared too and not only stamps: for commands that can keep a
        file's time while changing its bytes (`cp -p`, `touch -d`, `tar -x`).
        """
        self._apply_umask()
        stamps, touched, gone = self._compare_stamps(suspicious=suspicious)
        if not touched and not gone:
            return {}
        for path in gone:
            self._owners.pop(path, None)
            self._link_times.pop(path, None)
        changes: dict[str, FileEntry | None] = dict.fromkeys(gone)
        by_time: dict[int, list[str]] = {}
        rank: dict[int, int] = {}
        for path in sorted(touched, key=lambda p: (stamps[p][3], p)):
            kind, _, mode, modified, _ = stamps[path]
            mtime_us = self.clock.world_time(modified)
            if mtime_us is None:
                mtime_us = round(modified * 1_000_000)
            else:
                # Files written at the same world moment keep the order in which they were written.
                rank[mtime_us] = rank.get(mtime_us, -1) + 1
                mtime_us += rank[mtime_us]
                if kind != "symlink":
                    by_time.setdefault(mtime_us, []).append(path)
            if kind == "symlink":
                mtime_us = self._link_times.setdefault(path, mtime_us)
            changes[path] = self._entry(path, kind, mode, mtime_us, blobs)
        if by_time:
            set_times(self.fs, by_time)
        for path in touched:
            stamps[path] = _stamp(self.fs.stat(path))
        self._stamps = stamps
        self._owners_before = dict(self._owners)
        changes = {
            path: entry for path, entry in sorted(changes.items()) if self._tree.get(path) != entry
        }
        self._tree = self._tree.with_changes(changes)
        return changes

    def copy_below(self, top: str) -> FileSystem | None:
        """A file system with what is below the directory `top`, to be mounted there; `None` for `/` and for what is no
        directory."""
        entry = self._tree.get(top)
        if top == "/" or entry is None or entry.kind != "directory":
            return None
        found = {
            path[len(top) :]: e for path, e in self._tree.items() if path.startswith(f"{top}/")
        }
        contents = MemoryBlobs()
        for path, entry in found.items():
            if entry.kind == "file":
                contents.put(self.fs.read_file(top + path))
        made = LiveFiles()
        made.materialise(FileTree(found), contents)
        made.fs.remove("/dev", True)
        return made.fs

    @property
    def tree(self) -> FileTree:
        """The files as they were at the last `collect` or `materialise`."""
        return self._tree

    def pending(
        self, *, suspicious: bool, blobs: Blobs | None = None
    ) -> dict[str, FileEntry | None]:
        """What `collect` would find, without times; contents are stored only where `blobs` are given."""
        stamps, touched, gone = self._compare_stamps(suspicious=suspicious)
        found: dict[str, FileEntry | None] = dict.fromkeys(gone)
        for path in touched:
            kind, _, mode, _, created = stamps[path]
            if kind == "file" and self.mask.used and path not in self._stamps:
                mode = self.mask.mode_of(path, mode, created)
            found[path] = self._entry(path, kind, mode, 0, blobs)
        return found

    def _compare_stamps(self, *, suspicious: bool) -> tuple[dict[str, Stamp], list[str], list[str]]:
        """The stamps of all files, the paths whose files are not as they were, and those that are gone."""
        stamps, before = dict(self.stamps("/")), self._stamps
        noted = self._owners.keys() | self._owners_before.keys() | self._link_times.keys()
        moved = {path for path in noted if self._owner_moved(path) or self._link_moved(path)}
        touched = [
            path
            for path, stamp in stamps.items()
            if before.get(path) != stamp
            or path in moved
            or (suspicious and stamp[0] == "file" and self._content_moved(path))
        ]
        return stamps, touched, [path for path in before if path not in stamps]

    def _apply_umask(self) -> None:
        """Gives the files that redirections made the mode they should have."""
        if not self.mask.used:
            return
        for path, (kind, _, mode, _, created) in list(self.stamps("/")):
            if kind == "file" and path not in self._stamps:
                right = self.mask.mode_of(path, mode, created)
                if right != mode:
                    self.fs.chmod(path, right)

    def _entry(
        self, path: str, kind: str, mode: int, mtime_us: int, blobs: Blobs | None
    ) -> FileEntry:
        owner, group = self._owners.get(path, ("root", "root"))
        content, size = "", 0
        if kind == "file":
            data = self.fs.read_file(path)
            content, size = (blob_id(data) if blobs is None else blobs.put(data)), len(data)
        elif kind == "symlink":
            content = self.fs.read_link(path)
        return FileEntry(cast("FileKind", kind), mode, mtime_us, content, size, owner, group)

    def _owner_moved(self, path: str) -> bool:
        entry = self._tree.get(path)
        held = (entry.owner, entry.group) if entry else ("root", "root")
        return self._owners.get(path, ("root", "root")) != held

    def _link_moved(self, path: str) -> bool:
        entry = self._tree.get(path)
        return (
            path in self._link_times
            and entry is not None
            and (entry.mtime_us != self._link_times[path])
        )

    def _content_moved(self, path: str) -> bool:
        entry = self._tree.get(path)
        return entry is None or entry.content != blob_id(self.fs.read_file(path))

    def stamps(self, top: str, without: str = "") -> Iterator[tuple[str, Stamp]]:
        """All that lies below a folder, parents first; folders named `without` are left out."""
        if top == "/":
            yield "/", _stamp(self.fs.stat("/"))
        prefix = "" if top == "/" else top
        for entry in self.fs.read_dir(top):
            path = f"{prefix}/{entry['name']}"
            if path in SKIPPED_TOP or entry["name"] == without:
                continue
            info = entry["metadata"]
            yield path, _stamp(info)
            if info["file_type"] == "directory":
                yield from self.stamps(path, without)

    def _links_of(self, path: str) -> int:
        try:
            entries = self.fs.read_dir(path)
        except RuntimeError:
            return 2
        return 2 + sum(entry["metadata"]["file_type"] == "directory" for entry in entries)

    def _info(self, path: str) -> dict[str, Any]:
        fs, inner = self._route(self._place(path))
        return self._do(path, lambda: fs.stat(inner))

    def _place(self, path: str) -> str:
        """The parents' links are followed, the last part's is not."""
        if path.startswith("/dev/fd/"):
            return path
        parent, _, name = normal_path(path).rpartition("/")
        return f"{self.realpath(parent or '/').rstrip('/')}/{name}" if name else "/"

    def _route(self, path: str) -> tuple[FileSystem, str]:
        if path.startswith("/dev/fd/") and self.passing is not None:
            return self.passing, path
        for point, fs in self._mounts.items():
            if path == point:
                return fs, "/"
            if path.startswith(point + "/"):
                return fs, path[len(point) :]
        return self.fs, path

    def _writable(self, path: str) -> str:
        target = self.realpath(path)
        self._require_writable(target)
        parent = parent_of(target)
        if self._do(path, lambda: self.fs.stat(parent))["file_type"] != "directory":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return target

    @staticmethod
    def _do(path: str, action: Callable[[], T]) -> T:
        try:
            return action()
        except RuntimeError as error:
            raise os_error(error, path) from None


def _stamp(info: dict[str, Any]) -> Stamp:
    return info["file_type"], info["size"], info["mode"], info["modified"], info["created"]


def quote_word(word: str) -> str:
    """`word` as one shell word that is no keyword and no alias."""
    return "'" + word.replace("'", "'\\''") + "'"
