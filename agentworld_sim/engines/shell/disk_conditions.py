"""A disk that is full, and directories that cannot be written: what bashkit itself obeys in the middle of a script."""

from __future__ import annotations

import re

from bashkit import FileSystem

from agentworld_sim.engines.shell.file_times import set_times
from agentworld_sim.types.files import FileTree

FULL_BYTES = 100_000_000
"""What a file system of bashkit holds at most, in all files."""

FILLER = bytes(10_000_000)
"""As much as one file can hold."""


class DiskFiller:
    """Files that only take up space: bashkit has one limit for all files. They lie in `/dev`, which no world has."""

    def __init__(self, fs: FileSystem) -> None:
        self._fs = fs
        self._sizes: list[int] = []

    def leave_free(self, free_bytes: int | None) -> None:
        """Makes the disk so full that so many bytes can be written; `None` gives all back."""
        if free_bytes is None:
            while self._sizes:
                self._remove()
            return
        left = self._fill() - free_bytes
        while left < 0 and self._sizes:
            left += self._remove()
        if left > 0:
            self._add(left)

    def _fill(self) -> int:
        """Writes whole files while they fit; how many bytes are left."""
        while True:
            try:
                self._add(len(FILLER))
            except RuntimeError as error:
                wanted = re.search(r"(\d+) bytes would exceed", str(error))
                if wanted is None:
                    raise
                return FULL_BYTES + len(FILLER) - int(wanted[1])

    def _add(self, size: int) -> None:
        self._fs.write_file(f"/dev/.filler{len(self._sizes)}", FILLER[:size])
        self._sizes.append(size)

    def _remove(self) -> int:
        self._fs.remove(f"/dev/.filler{len(self._sizes) - 1}")
        return self._sizes.pop()


def copy_below(fs: FileSystem, tree: FileTree, top: str) -> FileSystem | None:
    """A file system with what `fs`, whose files are those of `tree`, has below the directory `top`, to be mounted there;
    `None` for `/` and for what is no directory."""
    entry = tree.get(top)
    if top == "/" or entry is None or entry.kind != "directory":
        return None
    made = FileSystem()
    for name in ("/dev", "/home", "/tmp"):
        made.remove(name, True)
    times: dict[int, list[str]] = {}
    for path, entry in tree.items():
        if not path.startswith(f"{top}/"):
            continue
        inner = path[len(top) :]
        if entry.kind == "symlink":
            made.symlink(entry.content, inner)
            continue
        if entry.kind == "directory":
            made.mkdir(inner, True)
        else:
            made.write_file(inner, fs.read_file(path))
        made.chmod(inner, entry.mode)
        times.setdefault(entry.mtime_us, []).append(inner)
    if times:
        set_times(made, times)
    return made
