"""Sessions of the older protocol that any of several processes can serve.

Nothing of a session is held in memory. Its id carries a random part, where the record of its end is
kept, and a signature that also covers the principal. The record is one byte in a file of the process
that began the session; the other processes read and write it there.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
import struct
import uuid
from pathlib import Path

_HEAD = struct.Struct(">16s16sI")
_SIGNATURE = 16
_ENDED = b"\x01"


class SignedSessions:
    """Begins, finds and ends sessions."""

    def __init__(self, folder: Path, secret: bytes) -> None:
        """
        Args:
            folder: Shared by the processes of a run.
            secret: Likewise.
        """
        self._folder = folder
        self._secret = secret
        self._own = uuid.uuid4().bytes
        self._count = 0
        self._files: dict[bytes, int] = {}
        self._file(self._own, create=True)

    def begin(self, principal: str | None) -> str:
        """The id of a new session of a principal."""
        head = _HEAD.pack(secrets.token_bytes(16), self._own, self._count)
        self._count += 1
        signed = head + self._signature(head, principal)
        return _written(signed)

    def alive(self, session: str, principal: str | None) -> bool:
        """Whether a session of that id was begun for this principal and has not ended."""
        place = self._place(session, principal)
        return place is not None and os.pread(place[0], 1, place[1]) != _ENDED

    def end(self, session: str, principal: str | None) -> None:
        """Ends a session; one that is none is none afterwards."""
        place = self._place(session, principal)
        if place is not None:
            os.pwrite(place[0], _ENDED, place[1])

    def close(self) -> None:
        """Closes the files."""
        for number in self._files.values():
            os.close(number)
        self._files.clear()

    def _place(self, session: str, principal: str | None) -> tuple[int, int] | None:
        try:
            signed = base64.b64decode(session + "=" * (-len(session) % 4), b"-_", validate=True)
        except (binascii.Error, ValueError):
            return None
        if len(signed) != _HEAD.size + _SIGNATURE or _written(signed) != session:
            return None
        head, signature = signed[: _HEAD.size], signed[_HEAD.size :]
        if not hmac.compare_digest(signature, self._signature(head, principal)):
            return None
        _, process, count = _HEAD.unpack(head)
        return self._file(process), count

    def _signature(self, head: bytes, principal: str | None) -> bytes:
        owner = b"" if principal is None else b"\x01" + principal.encode()
        return hmac.digest(self._secret, b"session\0" + head + owner, hashlib.sha256)[:_SIGNATURE]

    def _file(self, process: bytes, *, create: bool = False) -> int:
        number = self._files.get(process)
        if number is None:
            flags = os.O_RDWR | (os.O_CREAT if create else 0)
            number = os.open(self._folder / f"sessions-{process.hex()}", flags, 0o600)
            self._files[process] = number
        return number


def _written(signed: bytes) -> str:
    return base64.urlsafe_b64encode(signed).rstrip(b"=").decode("ascii")
