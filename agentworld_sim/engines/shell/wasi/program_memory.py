"""The memory of a running program, as the calls that it makes see it."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Iterable
from itertools import accumulate


class ProgramMemory:
    """Reads and writes at addresses that a program names, which may be any number.

    Raises `OSError` (`EFAULT`) for what lies outside.
    """

    def __init__(self) -> None:
        self._now = memoryview(b"")
        self._size = 0
        """Of the memory, when it was looked at last."""
        self.view: Callable[[], memoryview] = lambda: memoryview(b"")
        """Gives the memory as it is at that moment: it grows, and never moves."""

    def _reach(self, end: int) -> None:
        if end > self._size:
            self._now = self.view()
            self._size = len(self._now)
            if end > self._size:
                raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))

    def get(self, at: int, size: int) -> bytes:
        self._reach(at + size)
        return self._now[at : at + size].tobytes()

    def put(self, at: int, data: bytes | bytearray) -> None:
        end = at + len(data)
        self._reach(end)
        self._now[at:end] = data

    def put_u32(self, at: int, value: int) -> None:
        self.put(at, value.to_bytes(4, "little"))

    def text(self, at: int, size: int) -> str:
        return self.get(at, size).decode("utf-8", "surrogateescape")

    def gather(self, vectors: int, count: int) -> bytes:
        return b"".join(self.get(at, size) for at, size in self.pieces(vectors, count))

    def pieces(self, vectors: int, count: int) -> list[tuple[int, int]]:
        """The addresses and sizes of a list of buffers."""
        return list(struct.iter_unpack("<II", self.get(vectors, 8 * count)))

    def put_strings(self, strings: tuple[bytes, ...], pointers: int, buffer: int) -> None:
        """Strings one after another into `buffer`, and where each begins."""
        if strings:
            starts = accumulate(map(len, strings[:-1]), initial=buffer)
            self.put(pointers, struct.pack(f"<{len(strings)}I", *starts))
            self.put(buffer, b"".join(strings))

    def put_sizes(self, strings: tuple[bytes, ...], count_at: int, size_at: int) -> None:
        self.put_u32(count_at, len(strings))
        self.put_u32(size_at, sum(map(len, strings)))


def c_strings(texts: Iterable[str]) -> tuple[bytes, ...]:
    return tuple(text.encode("utf-8", "surrogateescape") + b"\0" for text in texts)
