"""The copy of one repository of a world on which libgit2 works.

libgit2 reads and writes folders of a host only. The copy lies in a private folder (mode 0700), holds no more than the
repository, and goes when the live files go. Nothing in it leads out: symbolic links are plain files that hold their
target, as git has them where the file system knows no links; hooks, alternates, repositories inside and the world's
own configuration are not copied; libgit2's search for the host's configuration is emptied.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import struct
import tempfile
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pygit2
from pygit2.enums import ConfigLevel

from agentworld_sim.engines.shell.live_files import LiveFiles, Stamp

for _level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
    pygit2.settings.search_path[_level] = ""

_GIT_FILES = re.compile(
    r"\.git(/(HEAD|[A-Z_]+|index|packed-refs|shallow|refs|logs|info|objects)"
    r"(?!/info|/pack/(?!pack-[0-9a-f]{40}\.(idx|pack)$))(/.*)?)?$"
)
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = false\n\tsymlinks = false\n"

_OWN = {".git", ".git/config", ".git/excludes", ".git/objects", ".git/refs", ".git/info"}

HostStamp = tuple[int, int, int]
"""Size, modification time and mode of a file of the host."""

_copies: weakref.WeakKeyDictionary[LiveFiles, dict[str, HostCopy]] = weakref.WeakKeyDictionary()


def copy_of(files: LiveFiles, top: str, git_dir: str) -> HostCopy:
    """The copy of one repository, which is kept as long as the live files are."""
    return _copies.setdefault(files, {}).setdefault(git_dir, HostCopy(files, top, git_dir))


_superfluous: deque[str] = deque()
"""Folders of copies that are gone: the garbage collector may run anywhere, so it only notes them."""


@atexit.register
def _remove_folders() -> None:
    with suppress(IndexError):
        while True:
            shutil.rmtree(_superfluous.popleft(), ignore_errors=True)


class HostCopy:
    """One copy. Paths are those from the top of the work tree, of the world's and of the copy alike."""

    def __init__(self, files: LiveFiles, top: str, git_dir: str) -> None:
        self._files, self._top, self._git_dir = weakref.ref(files), top.rstrip("/"), git_dir
        self._known: dict[str, Stamp] = {}
        """What the world had when the copy was made equal to it."""
        self._held: dict[str, HostStamp] = {}

    @property
    def files(self) -> LiveFiles:
        files = self._files()
        assert files is not None
        return files

    @cached_property
    def folder(self) -> Path:
        _remove_folders()
        path = tempfile.mkdtemp(prefix="agentworld-git-")
        weakref.finalize(self, _superfluous.append, path)
        return Path(path)

    def _in_world(self, name: str) -> str:
        return (
            self._git_dir + name[4:]
            if name.startswith(".git") and name[4:5] in ("", "/")
            else f"{self._top}/{name}"
        )

    def bring(self, settings: str, excludes: bytes) -> None:
        """Makes the copy equal to the world.

        Args:
            settings: What libgit2 is told beside its constants.
            excludes: What the user ignores everywhere.
        """
        now = dict(self._world())
        for name in sorted(self._known.keys() - now.keys(), reverse=True):
            self.remove(name)
        for name, stamp in now.items():
            if self._known.get(name) != stamp:
                self._write(name, stamp)
        for name in (".git/objects", ".git/refs", ".git/info"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        # git shows half the bits of the number of objects.
        packed = sum(stamp[1] - 1072 for name, stamp in now.items() if name.endswith(".idx")) // 28
        digits = max(7, (packed.bit_length() + 1) // 2)
        own = f"[core]\n\tabbrev = {digits}\n\texcludesfile = {self.folder}/.git/excludes\n"
        (self.folder / ".git/config").write_text(
            _CONFIG + own + settings, "utf-8", "surrogateescape"
        )
        (self.folder / ".git/excludes").write_bytes(excludes)
        self._known, self._held = now, dict(self._host())
        for name in self._held.keys() - now.keys() - _OWN:
            # What an earlier command left that changed nothing in the world.
            self.remove(name)
            del self._held[name]

    def _world(self) -> Iterator[tuple[str, Stamp]]:
        """What is copied, folders before what they hold."""
        for path, stamp in self.files.stamps(self._git_dir):
            name = ".git" + path[len(self._git_dir) :]
            if stamp[0] in ("file", "directory") and _GIT_FILES.match(name):
                yield name, stamp
        for path, stamp in self.files.stamps(self._top or "/", ".git"):
            if (name := path[len(self._top) + 1 :]) and stamp[0] != "fifo":
                yield name, stamp

    def _write(self, name: str, stamp: Stamp) -> None:
        path = self.folder / name
        if stamp[0] == "directory":
            if not path.is_dir():
                self.remove(name)
                path.mkdir(parents=True)
            return
        if path.is_dir():
            self.remove(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        source = self._in_world(name)
        if stamp[0] == "symlink":
            path.write_text(self.files.readlink(source), "utf-8", "surrogateescape")
        else:
            path.write_bytes(self.files.read(source))
            path.chmod(0o755 if stamp[2] & 0o100 else 0o644)

    def forget(self) -> None:
        """A command gave up after it changed the copy: the next one makes all of it anew."""
        self._known.clear()

    def remove(self, name: str) -> None:
        """Removes a file or a folder of the copy."""
        path = self.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _host(self, folder: str = "") -> Iterator[tuple[str, HostStamp]]:
        for entry in os.scandir(self.folder / folder):
            info = entry.stat(follow_symlinks=False)
            name = folder + entry.name
            if entry.is_dir():
                yield name, (0, 0, 0)
                yield from self._host(f"{name}/")
            else:
                yield name, (info.st_size, info.st_mtime_ns, info.st_mode & 0o100)

    def take(self, links: set[str]) -> None:
        """Writes what changed in the copy into the world; the files named in `links` as symbolic links."""
        now = dict(self._host())
        for name in sorted(self._held.keys() - now.keys(), reverse=True):
            self.files.remove(self._in_world(name), recursive=True)
        for name in sorted(name for name, stamp in now.items() if self._held.get(name) != stamp):
            if _GIT_FILES.match(name) or not name.startswith(".git/"):
                self._give(name, now[name], linked=name in links)
        self._held = now
        self._known = dict(self._world())

    def _give(self, name: str, stamp: HostStamp, *, linked: bool) -> None:
        files, target = self.files, self._in_world(name)
        try:
            before = files.lstat(target)
        except OSError:
            before = None
        folder = (self.folder / name).is_dir()
        if before and (
            before.kind == "symlink" or linked or (before.kind == "directory") != folder
        ):
            files.remove(target, recursive=True)
            before = None
        if folder:
            files.mkdir(target, parents=True)
            return
        data = (self.folder / name).read_bytes()
        if linked:
            files.symlink(data.decode("utf-8", "surrogateescape"), target)
            return
        if name == ".git/index":
            data = _without_times(data)
        mode = (
            0o444
            if name.startswith(".git/objects/")
            else (0o777 if stamp[2] else 0o666) & ~files.mask.now
        )
        same_kind = before is not None and bool(before.mode & 0o100) == bool(stamp[2])
        files.write(target, data, mode=None if same_kind else mode)


def _without_times(data: bytes) -> bytes:
    """An index that does not tell of the host's files: git compares contents where the times are zero."""
    count, at = struct.unpack_from(">I", data, 8)[0], 12
    raw = bytearray(data[:-20])
    for _ in range(count):
        raw[at : at + 24] = bytes(24)
        raw[at + 28 : at + 40] = bytes(12)
        start = at + (64 if raw[at + 60] & 0x40 else 62)
        end = raw.index(b"\0", start)
        at += (end - at + 8) // 8 * 8
    return bytes(raw) + hashlib.sha1(raw).digest()
