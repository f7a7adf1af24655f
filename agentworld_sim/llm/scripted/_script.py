"""A script: what a request looks like to it, and what it can answer: a reply, or one of the ways in which
servers fail."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from agentworld_sim.errors import UsageError

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
        return _mappings(self.body.get("messages"))

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
        return bool(self._option("stream_options", "include_usage"))

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
        value = self._option("chat_template_kwargs", "enable_thinking")
        return value if isinstance(value, bool) else None

    def _option(self, field: str, name: str) -> object:
        options: object = self.body.get(field)
        return cast(dict[str, object], options).get(name) if isinstance(options, dict) else None


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message whose content is a string or a list of parts."""
    content: object = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in _mappings(content))


def _mappings(value: object) -> list[dict[str, Any]]:
    items = cast(list[object], value) if isinstance(value, list) else []
    return [cast(dict[str, Any], item) for item in items if isinstance(item, dict)]


class ScriptError(UsageError):
    """The script of a `ScriptedModelServer` has no answer to a request, or a wrong one."""


class Gate:
    """Holds replies back until a test opens it, from any thread.

    `ScriptedReply("…", gate=gate)` is answered once `gate.open()` was called: that makes "while
    these requests are running" exact, where a delay would only make it likely.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._opened = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        """Let everything through, now and later."""
        with self._lock:
            self._opened = True
            waiting, self._waiting = self._waiting, []
        for loop, event in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def wait(self) -> None:
        """Return once the gate is open."""
        event = asyncio.Event()
        with self._lock:
            if self._opened:
                return
            self._waiting.append((asyncio.get_running_loop(), event))
        await event.wait()


@dataclass(frozen=True)
class ScriptedReply:
    """An answer of the model."""

    content: str
    """The text after the thinking, exactly as it is sent."""
    thinking: str = ""
    """Sent in the reasoning field, whether or not the request asked for thinking: a function can
    look at `ModelRequest.enable_thinking`. Empty means none."""
    finish_reason: Literal["stop", "length"] = "stop"
    delay_s: float = 0.0
    """Before the first byte: queue and prefill."""
    seconds_per_chunk: float = 0.0
    """Between two chunks of a stream; without a stream the sum of them passes before the answer."""
    chunk_size: int | None = 32
    """Characters per chunk of a stream; `None` sends thinking and content in one chunk each."""
    gate: Gate | None = None
    """Nothing is sent before this gate opens."""

    @classmethod
    def observation(
        cls, text: str, *, thinking: str = "", delay_s: float = 0.0, gate: Gate | None = None
    ) -> ScriptedReply:
        """A reply as the world model writes it: the observation inside its tag."""
        content = f"<predicted_observation>\n{text}\n</predicted_observation>"
        return cls(content, thinking=thinking, delay_s=delay_s, gate=gate)

    @classmethod
    def long_line(cls, size: int = 5_000_000) -> ScriptedReply:
        """A reply of `size` characters in one line and, when streamed, in one chunk."""
        return cls("x" * size, chunk_size=None)


SAMPLE = ScriptedReply("The first half of an answer; the second half of it.", chunk_size=8)
"""What replies that break in the middle begin with."""


@dataclass(frozen=True)
class ErrorReply:
    """An HTTP error with the body such a server gives it."""

    status: int
    message: str = ""
    """Empty means what the server would say to this status."""
    retry_after_s: float | None = None
    """Sent as the `Retry-After` header."""


@dataclass(frozen=True)
class OverflowReply:
    """The 400 of a prompt that is longer than the context, in the server's own words."""


@dataclass(frozen=True)
class RawReply:
    """Any status and any body, right or wrong. Sent as it is, also to a request for a stream.

    With `content_type="text/event-stream"` it is a stream written by hand: comments that keep the
    connection alive, events over several lines, other line ends.
    """

    body: str | bytes = b""
    status: int = 200
    content_type: str = "application/json"

    @classmethod
    def html_page(cls, status: int = 200) -> RawReply:
        """What a proxy or a login page answers in the place of the server."""
        page = (
            "<!DOCTYPE html>\n<html><head><title>Bad gateway</title></head><body></body></html>\n"
        )
        return cls(page, status, "text/html; charset=utf-8")

    @classmethod
    def invalid_json(cls) -> RawReply:
        """A body that claims to be JSON and ends too early."""
        return cls('{"id": "chatcmpl-0", "choices": [{"index": 0, "message": {"content": "Half')

    @classmethod
    def error_with_status_200(cls, message: str = "The model is overloaded.") -> RawReply:
        """An error body under a status that says all is well, as some gateways send it."""
        error = {"message": message, "type": "server_error", "code": 503}
        return cls(json.dumps({"error": error}))

    @classmethod
    def empty(cls, status: int = 200) -> RawReply:
        """No body at all."""
        return cls(b"", status)


@dataclass(frozen=True)
class Hang:
    """Never ends: until the client leaves or the server closes."""

    after_chunks: int | None = None
    """`None`: not one byte is sent. A number: the headers and that many chunks of `reply`."""
    reply: ScriptedReply = SAMPLE


@dataclass(frozen=True)
class Disconnect:
    """The server dies: the connection ends before the answer does."""

    after_chunks: int | None = None
    """`None`: before the first byte. A number: after the headers and that many chunks."""
    reset: bool = False
    """End with a TCP reset in place of an orderly close."""
    reply: ScriptedReply = SAMPLE


@dataclass(frozen=True)
class StreamError:
    """An error inside a stream that has begun with status 200; without a stream a plain 500."""

    after_chunks: int = 2
    message: str = "Internal server error"
    reply: ScriptedReply = SAMPLE


Reply = ScriptedReply | ErrorReply | OverflowReply | RawReply | Hang | Disconnect | StreamError
"""Everything that can be scripted."""

Script = Sequence[Reply | str] | Callable[[ModelRequest], Reply | str | Awaitable[Reply | str]]
"""Replies in the order of the requests, or a function that answers each; a string is the content
of a `ScriptedReply`."""
