"""A disk that is full: what bashkit itself obeys in the middle of a script."""

from __future__ import annotations

import re

from bashkit import FileSystem

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
