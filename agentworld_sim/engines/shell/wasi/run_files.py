"""The world's files as one running program sees them.

A program makes thousands of calls, most of them to look. A folder is listed once and a file read once in a run; what
the program makes, moves and removes goes to the world at once, and what it writes into a file at `flush`. Before
another command runs, `forget` makes the next look a new one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentworld_sim.engines.shell.live_files import MAX_LINKS, FileStat, LiveFiles, directory_place

DIRECTORY, FILE, LINK, DEVICE = 3, 4, 7, 2
"""WASI's numbers of the kinds of files. 0 is any other."""

_KINDS = {"directory": DIRECTORY, "file": FILE, "symlink": LINK}

LARGEST = 10_000_000
"""Bytes of the largest file that the embedded shell's file system takes."""


class Node:
    """One file, folder, link or device."""

    __slots__ = ("data", "entries", "info", "kind", "name", "parent", "stale", "status")

    def __init__(self, kind: int, parent: Node | None, name: str) -> None:
        self.kind = kind
        self.parent = parent
        """`None` for the root, and for what was removed."""
        self.name = name
        self.info: dict[str, Any] | None = None
        """What the embedded file system says of it."""
        self.status: FileStat | None = None
        self.entries: dict[str, Node] | None = None
        """Of a folder, once it was listed."""
        self.data: bytes | bytearray | None = None
        """Of a file, once it was read; a `bytearray` from the first write on. Of a link, where it leads."""
        self.stale = False
        """The world has not got `data` yet."""

    @property
    def path(self) -> str:
        parts: list[str] = []
        node = self
        while node.parent is not None:
            parts.append(node.name)
            node = node.parent
        return "/" + "/".join(reversed(parts))

    @property
    def is_removed(self) -> bool:
        return self.parent is None and bool(self.name)


class RunFiles:
    """The files of one run, over those of its world. Failures raise `OSError` with a real `errno`."""

    def __init__(self, live: LiveFiles, devices: Mapping[str, str]) -> None:
        """`devices` are the kinds of devices by path, for those that programs may open."""
        self._live = live
        self._devices = devices
        self.root = Node(DIRECTORY, None, "")
        self._stale: dict[Node, None] = {}
        self._changed_us: dict[str, int] = {}
        """When folders got or lost entries in this run, by path: the world's own file system does not note it, and
        Python takes a folder with the same time for the same."""

    def find(self, path: str, *, follow: bool = True) -> Node:
        """The file at an absolute path.

        Raises:
            OSError: there is none, or a part of the path is no folder.
        """
        if path.startswith("/dev/fd/"):
            # A pipe of `<(…)`, which the running interpreter alone has.
            pipe = Node(FILE, None, path)
            pipe.data = self._live.read(path)
            return pipe
        node, _, _ = self._walk(path, follow=follow)
        if node is None:
            raise _error(errno.ENOENT, path)
        return node

    def place(self, path: str) -> tuple[Node | None, Node, str]:
        """What is at an absolute path, not following a link there, its folder and its name in it.

        Raises:
            OSError: the folder is missing, or none.
        """
        return self._walk(path, follow=False)

    def _walk(self, path: str, *, follow: bool) -> tuple[Node | None, Node, str]:
        node = self.root
        todo = path.split("/")
        todo.reverse()
        hops = 0
        parent, name = node, ""
        while todo:
            part = todo.pop()
            if not part or part == ".":
                continue
            if node.kind != DIRECTORY:
                raise _error(errno.ENOTDIR, path)
            if part == "..":
                node = node.parent or node
                parent, name = node.parent or node, node.name
                continue
            entries = node.entries
            if entries is None:
                entries = self.list(node)
            found = entries.get(part)
            parent, name = node, part
            if found is None:
                if any(rest and rest != "." for rest in todo):
                    raise _error(errno.ENOENT, path)
                return None, parent, name
            if found.kind == LINK and (follow or any(todo)):
                hops += 1
                if hops > MAX_LINKS:
                    raise _error(errno.ELOOP, path)
                target = self.target(found)
                todo.extend(reversed(target.split("/")))
                if target.startswith("/"):
                    node = self.root
                continue
            node = found
        return node, parent, name

    def list(self, folder: Node) -> dict[str, Node]:
        """What is in a folder, by name, in the order of the directory."""
        if folder.entries is None:
            path = folder.path
            entries: dict[str, Node] = {}
            folder.entries = entries
            if folder.is_removed:
                return entries
            prefix = path.rstrip("/")
            for name, info in self._live.entries_of(path).items():
                node = entries[name] = Node(_KINDS.get(info["file_type"], 0), folder, name)
                node.info = info
                if f"{prefix}/{name}" in self._devices:
                    node.kind = DEVICE
        return folder.entries

    def target(self, link: Node) -> str:
        """Where a link leads, as written."""
        if link.data is None:
            link.data = self._live.readlink(link.path).encode("utf-8", "surrogateescape")
        return bytes(link.data).decode("utf-8", "surrogateescape")

    def status(self, node: Node) -> FileStat:
        """What `lstat` says of a file."""
        if node.status is None:
            if node.is_removed:
                node.status = FileStat("file", 0, 0o644, self._live.clock.now_us(), nlink=0)
            elif node.info is None:
                node.status = self._live.lstat(node.path)
            else:
                node.status = self._live.status_of(node.path, node.info)
            if node.kind == DIRECTORY and node.path in self._changed_us:
                node.status = replace(node.status, mtime_us=self._changed_us[node.path])
        return node.status

    def size(self, node: Node) -> int:
        if node.kind == FILE and node.data is not None:
            return len(node.data)
        if node.kind == LINK:
            return len(self.target(node).encode("utf-8", "surrogateescape"))
        return self.status(node).size

    # What files hold

    def read(self, node: Node) -> bytes | bytearray:
        if node.data is None:
            node.data = self._live.read(node.path)
        return node.data

    def writable(self, node: Node) -> bytearray:
        """What a file holds, to be changed in place."""
        data = self.read(node)
        if not isinstance(data, bytearray):
            data = node.data = bytearray(data)
        if not node.stale and not node.is_removed:
            node.stale = True
            self._stale[node] = None
        node.status = node.info = None
        return data

    def flush(self, node: Node) -> None:
        """Gives the world what was written into a file.

        Raises:
            OSError: the disk is full, or the file may not be written.
        """
        if node.stale:
            node.stale = False
            del self._stale[node]
            data = bytes(node.data or b"")
            try:
                self._live.write(node.path, data)
            except OSError:
                node.data = None
                raise
            node.status = node.info = None

    def flush_all(self) -> None:
        """The same for all files; those that cannot be written are left out, as at the end of a process."""
        for node in list(self._stale):
            try:
                self.flush(node)
            except OSError:
                continue

    def forget(self, held: Iterable[Node]) -> None:
        """Another command may have changed the files: all are looked at anew. Those in `held`, which are open, stay
        the same ones where they are still there."""
        places = sorted(
            (node.path, node) for node in held if node.kind != DEVICE and not node.is_removed
        )
        self.root.entries = None
        for path, node in places:
            try:
                found, parent, name = self.place(path)
            except OSError:
                found, parent, name = None, self.root, ""
            if found is None or found.kind != node.kind:
                node.parent, node.data = None, node.data or b""
            elif found is not node:
                node.parent, node.info, node.status = parent, found.info, None
                node.data = node.entries = None
                self.list(parent)[name] = node

    # Names

    def create(self, parent: Node, name: str) -> Node:
        """A new, empty file."""
        self._live.write(_join(parent, name), b"")
        return self._enter(FILE, parent, name, b"")

    def make_folder(self, parent: Node, name: str) -> None:
        self._live.mkdir(_join(parent, name))
        self._enter(DIRECTORY, parent, name, None).entries = {}

    def make_link(self, target: str, parent: Node, name: str) -> None:
        self._live.symlink(target, _join(parent, name))
        self._enter(LINK, parent, name, target.encode("utf-8", "surrogateescape"))

    def remove(self, node: Node) -> None:
        """Removes a file, a link or an empty folder; who has it open keeps what it holds."""
        if node.kind == FILE:
            self.read(node)
        self._live.remove(node.path)
        self._take_out(node)

    def rename(self, node: Node, parent: Node, name: str, before: Node | None) -> None:
        """Moves a file to another place, where `before` is replaced."""
        if before is node:
            return
        self._flush_below(node)
        if before is not None:
            if before.kind == FILE:
                self.read(before)
            self._live.remove(before.path)
            self._take_out(before)
        self._live.rename(node.path, _join(parent, name))
        if node.parent is not None:
            self.list(node.parent).pop(node.name, None)
            self._note_change(node.parent)
        node.parent, node.name = parent, name
        self._put(node)

    def set_mode(self, node: Node, mode: int) -> None:
        self._live.chmod(node.path, mode)
        node.status = node.info = None

    def set_owner(self, node: Node, owner: str | None, group: str | None) -> None:
        self._live.chown(node.path, owner, group, follow=False)
        node.status = None

    def set_time(self, node: Node, mtime_us: int) -> None:
        self.flush(node)
        self._live.set_mtime(node.path, mtime_us, follow=False)
        node.status = node.info = None

    def _flush_below(self, top: Node) -> None:
        for node in list(self._stale):
            at: Node | None = node
            while at is not None and at is not top:
                at = at.parent
            if at is top:
                self.flush(node)

    def _enter(self, kind: int, parent: Node, name: str, data: bytes | None) -> Node:
        node = Node(kind, parent, name)
        node.data = data
        self._put(node)
        return node

    def _put(self, node: Node) -> None:
        assert node.parent is not None
        entries = self.list(node.parent)
        entries[node.name] = node
        prefix = node.parent.path.rstrip("/")
        in_order = sorted(entries, key=lambda name: directory_place(f"{prefix}/{name}"))
        node.parent.entries = {name: entries[name] for name in in_order}
        self._note_change(node.parent)

    def _take_out(self, node: Node) -> None:
        if node.stale:
            node.stale = False
            del self._stale[node]
        if node.parent is not None:
            self.list(node.parent).pop(node.name, None)
            self._note_change(node.parent)
        node.parent, node.status, node.info = None, None, None

    def _note_change(self, folder: Node) -> None:
        path, folder.status = folder.path, None
        self._changed_us[path] = 1 + max(self._live.clock.now_us(), self._changed_us.get(path, 0))


def _join(parent: Node, name: str) -> str:
    return f"{parent.path.rstrip('/')}/{name}"


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
