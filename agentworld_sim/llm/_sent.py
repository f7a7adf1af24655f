"""A request as it is sent: the same for every server, before its dialect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.chat import ChatRequest
from agentworld_sim.llm.settings import ModelSettings

LARGEST_SEED = 2**31 - 1
"""Servers hold a seed in a signed number of 32 bits, some of them silently."""


@dataclass(frozen=True, slots=True)
class SentRequest:
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
    def of(cls, request: ChatRequest, settings: ModelSettings, model: str) -> SentRequest:
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
