"""Bodies of responses, and what is raised when one does not come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer or line and characters of one reply. A full context of 262,144 tokens has a few
megabytes of text."""

SESSION_HEADER = "x-session-id"
"""What vLLM's router (0.1.17) sends to one replica with its policy `consistent_hash`."""

Cause = Literal[
    "unknown host",
    "refused",
    "no connection",
    "cannot reach",
    "proxy",
    "tls",
    "silent",
    "late",
    "too large",
    "lost",
]


class TransportError(Exception):
    """No response came, or it broke off."""

    def __init__(self, cause: Cause, detail: str = "", *, seconds: float = 0.0) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause: Cause = cause
        self.detail = detail
        """What the libraries say, for causes that do not say everything."""
        self.seconds = seconds
        """How long it was silent or took."""


async def whole(pieces: AsyncIterator[bytes]) -> bytes:
    """A body as one.

    Raises:
        TransportError: it is larger than `LARGEST_ANSWER`.
    """
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > LARGEST_ANSWER:
            raise TransportError("too large")
    return bytes(body)
