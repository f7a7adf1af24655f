"""What is sent to a chat-completions server and what comes back, as values."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, Protocol

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.settings import ModelSettings
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
    model: str = ""
    """What the server calls the model that answered; a hosted one may name a dated version of what was asked."""
    finish_reason: str
    """`stop`, `length`, or `interrupted` when a watch ended the reply."""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    """`prompt_tokens`, `completion_tokens`, `cached_tokens`, `thinking_tokens`, as far as told."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The request as sent, without its messages: for the records."""
    logprob: float | None = None
    """Mean of the natural logarithms of the content's token probabilities; `None` where the server does not
    tell them."""
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
    owner: str = field(default="", compare=False)
    """Whose it is by the server's list (`owned_by`): most servers put their own name there."""


LARGEST_SEED = 2**31 - 1
"""Servers hold a seed in a signed number of 32 bits, some of them silently."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request as its server gets it, and a key that equal requests share."""

    messages: bytes
    """As JSON, so that the longest part is written once however often it is sent."""
    fields: Mapping[str, Any]
    """Everything else in the body."""
    key: bytes
    session: str
    """The same for all requests that begin alike, for routers that keep such on one replica, where
    the prefix cache holds their beginning."""

    @classmethod
    def of(cls, request: ChatRequest, settings: ModelSettings, model: str) -> PreparedRequest:
        """The request to a model of this name.

        Raises:
            UsageError: the seed is none.
        """
        if not 0 <= request.seed <= LARGEST_SEED:
            raise UsageError(f"the seed must be 0 to {LARGEST_SEED}, not {request.seed!r}.")
        messages = _json(
            [{"role": message.role, "content": message.content} for message in request.messages]
        )
        fields = _fields(request, settings, model)
        key = blake2b(_json(fields), digest_size=32)
        key.update(messages)
        beginning = _json([one.content for one in request.messages[:2]])
        session = blake2b(beginning, digest_size=12).hexdigest()
        return cls(messages, fields, key.digest(), session)

    def body(self, fields: Mapping[str, Any]) -> bytes:
        """The body with these fields beside the messages."""
        return b"".join((b'{"messages":', self.messages, b",", _json(fields)[1:]))


def _fields(request: ChatRequest, settings: ModelSettings, model: str) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "model": model,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "top_k": settings.top_k,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "chat_template_kwargs": {"enable_thinking": request.thinking},
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if settings.asks_logprobs:
        fields["logprobs"] = True
    if request.thinking and request.thinking_tokens is not None:
        # As vLLM calls it (0.32, its sampling parameters); the thinking is closed there.
        fields["thinking_token_budget"] = request.thinking_tokens
    if request.schema is not None and settings.structured == "auto":
        fields["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": "observation",
                "strict": True,
                # Not sorted: the order of a schema is the order in which a grammar writes.
                "schema": dict(request.schema),
            },
        }
    return fields


def _json(value: object) -> bytes:
    # Half a surrogate pair is no text: no server could read it.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
