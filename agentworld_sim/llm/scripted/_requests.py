"""A request as the server received it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Authorization = Literal["right", "wrong", "missing", "unchecked"]
"""Whether the API key was the right one; `unchecked` where the server asks for none."""


@dataclass(frozen=True)
class ModelRequest:
    """One `POST /v1/chat/completions`.

    The API key is nowhere in it: the `authorization` header is replaced by whether it was right.
    """

    index: int
    """Which chat request of this server it is, from 0."""
    body: Mapping[str, Any]
    """The JSON object that was sent; empty when the body was not one."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names in lower case."""
    authorization: Authorization = "unchecked"
    prompt: str = ""
    """The messages as the server's chat template renders them."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """How many of `prompt_tokens` the prefix cache held."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the conversation, oldest first."""
        messages: object = self.body.get("messages")
        if not isinstance(messages, list):
            return []
        entries = cast(list[object], messages)
        return [cast(dict[str, Any], entry) for entry in entries if isinstance(entry, dict)]

    @property
    def system(self) -> str:
        """The text of the system message, or an empty string."""
        return next((text_of(m) for m in self.messages if m.get("role") == "system"), "")

    @property
    def last_user(self) -> str:
        """The text of the last user message, or an empty string."""
        users = [message for message in self.messages if message.get("role") == "user"]
        return text_of(users[-1]) if users else ""

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with a usage chunk."""
        options: object = self.body.get("stream_options")
        if not isinstance(options, dict):
            return False
        return bool(cast(dict[str, object], options).get("include_usage"))

    @property
    def max_tokens(self) -> int | None:
        """The limit on generated tokens, by either of its names."""
        for name in ("max_completion_tokens", "max_tokens"):
            value: object = self.body.get(name)
            if isinstance(value, int):
                return value
        return None

    @property
    def enable_thinking(self) -> bool | None:
        """What `chat_template_kwargs` say about thinking; `None` when they say nothing."""
        options: object = self.body.get("chat_template_kwargs")
        if not isinstance(options, dict):
            return None
        value = cast(dict[str, object], options).get("enable_thinking")
        return value if isinstance(value, bool) else None


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content: object = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = [
        cast(dict[str, object], part)
        for part in cast(list[object], content)
        if isinstance(part, dict)
    ]
    return "".join(str(part.get("text", "")) for part in parts)
