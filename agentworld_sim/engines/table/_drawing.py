"""Random choices that are the same in every process and release: hashes of where they are made."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A source of choices. Each choice is named, so that it does not depend on those before it."""

    __slots__ = ("_where",)

    def __init__(self, *where: object) -> None:
        self._where = "\n".join(map(str, where))

    def at(self, *where: object) -> Draw:
        """A source of its own."""
        return Draw(self._where, *where)

    def number(self, name: object = "") -> int:
        """64 random bits."""
        text = f"{self._where}\n{name}".encode(errors="surrogatepass")
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest())

    def below(self, limit: int, name: object = "") -> int:
        """A number from 0 to `limit` - 1."""
        return self.number(name) % limit

    def one_of(self, values: Sequence[T], name: object = "") -> T:
        """One of `values`."""
        return values[self.below(len(values), name)]

    def uuid(self, name: object = "") -> str:
        """A version 4 UUID."""
        high, low = self.number((name, "high")), self.number((name, "low"))
        return str(uuid.UUID(int=high << 64 | low, version=4))

    def hex(self, digits: int, name: object = "") -> str:
        """So many hexadecimal digits."""
        parts = [f"{self.number((name, part)):016x}" for part in range(digits // 16 + 1)]
        return "".join(parts)[:digits]
