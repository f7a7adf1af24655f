"""One call of a model on its way through the proxy, its reply, and who stands between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Headers = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """A chat completion that is asked for."""

    request: Mapping[str, Any]
    """The body as JSON."""
    body: bytes
    """The body as it came, which is what is forwarded."""
    method: str
    target: str
    """The path and query as they came."""
    headers: Headers = field(repr=False)
    """Without those of the connection. They hold the caller's key: never logged, never recorded."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What the caller is sent."""

    status: int
    headers: Headers
    body: AsyncIterator[bytes]
    """In the pieces in which it came; a stream is not waited for."""


class ReplyCut(Exception):
    """Raised in a reply's body: the connection ends there, as if the server had died."""


ForwardCall: TypeAlias = "Callable[[ModelCall], Awaitable[ModelReply]]"
"""Answers a call: the handlers behind this one, and then the model's server."""


class ModelCallHandler(Protocol):
    """Stands between an agent and its model."""

    async def handle(self, call: ModelCall, next: ForwardCall) -> ModelReply:
        """Answers a call; `next(call)` lets the others answer, and may be called never, once or several times."""
        ...
