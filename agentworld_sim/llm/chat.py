"""What is sent to a chat-completions server and what comes back, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agentworld_sim.types.exchanges import Source

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One question to the model. Equal requests are answered once."""

    messages: tuple[ChatMessage, ...]
    max_tokens: int
    """Of the reply, thinking included."""
    seed: int
    """For the server's sampler; 0 to 2**31 - 1."""
    thinking: bool = True
    thinking_tokens: int | None = None
    """Most tokens of thinking, for servers that can end it there; others ignore it."""
    schema: Mapping[str, Any] | None = None
    """JSON Schema that the content must fit. A server that cannot enforce one ignores it; see
    `ChatReply.enforced`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply:
    """What the model said."""

    content: str
    """The answer, without the thinking when the server separates it."""
    thinking: str = ""
    """What a reasoning parser on the server took out."""
    thinking_field: str = ""
    """What the server calls that, when it did."""
    pieces: int = 0
    """In how many pieces the text came; about its tokens, where `usage` does not tell."""
    finish_reason: str
    """`stop`, `length`, or `interrupted` when a watch ended the reply."""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """`prompt_tokens`, `completion_tokens`, `cached_tokens`, `thinking_tokens`, as far as told."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The request as sent, without its messages: for the records."""
    enforced: bool = False
    """Whether the server held the content to the schema."""
    seconds: float = 0.0
    """Host time from the request to the end of the reply, retries included."""
    first_token_seconds: float | None = None
    source: Source = "server"
    interruption: str = ""
    """Why a watch ended the reply."""


Watch = Callable[[str, str], str | None]
"""Looks at a reply while it streams in: takes content and thinking so far, gives a reason to break off
or `None`. Called now and then, not for every token."""


class Listener(Protocol):
    """Reads along while a reply is written."""

    def begin(self) -> None:
        """The request is sent, perhaps once more."""
        ...

    def hear(self, piece: str, *, thought: bool) -> None:
        """Takes a piece of the reply's content; `thought` when thinking came apart from it."""
        ...


@dataclass(frozen=True, slots=True)
class ServedModel:
    """What a server says of the model it serves."""

    name: str
    context_tokens: int | None
    """Most tokens of prompt and reply together; `None` when the server does not say."""
