"""What a script can answer: an ordinary reply, or one of the ways in which servers fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from agentworld_sim.errors import UsageError
from agentworld_sim.llm.scripted._requests import ModelRequest


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
        text = message.replace("\\", "\\\\").replace('"', '\\"')
        return cls(f'{{"error": {{"message": "{text}", "type": "server_error", "code": 503}}}}')

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
