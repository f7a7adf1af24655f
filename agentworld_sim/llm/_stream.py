"""Reading a reply: server-sent events, the pieces in them, and replies that come whole."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from agentworld_sim.llm.chat import Listener, Watch
from agentworld_sim.llm.failures import (
    LARGEST_ANSWER,
    Refusal,
    TransportError,
    looks_like,
    refusal_in,
    whole,
)

if TYPE_CHECKING:
    import httpx2

WATCH_EVERY = 2_048
"""Characters between two looks at a reply, or a tenth of it when that is more: looking at all of a
reply again and again would take time quadratic in its length."""

LEFTOVER_SECONDS = 0.5
"""How long to wait for the end of a stream that has said it is done, to keep its connection."""

THINKING_FIELDS = ("reasoning", "reasoning_content")
"""What newer and older vLLM call it, and SGLang."""

BROKEN_OFF = frozenset({"abort", "error"})
"""Reasons that say the server gave up."""


class MalformedReply(Exception):
    """The server sends what is no reply."""

    def __init__(self, what: str, hint: str = "", *, temporary: bool = False) -> None:
        super().__init__(what)
        self.hint = hint
        """What to do about it, when that is particular."""
        self.temporary = temporary
        """Whether trying again may help."""


def too_large(what: str) -> MalformedReply:
    """More than any model says."""
    return MalformedReply(
        f"sends {what} of more than {LARGEST_ANSWER >> 20} MB",
        " No model writes that much: look into the server's log.",
    )


def broken_reply(how: str) -> MalformedReply:
    """A reply that ended before its end."""
    return MalformedReply(how, " Look into the server's log.", temporary=True)


class FilteredReply(Exception):
    """The server kept a part of the reply back."""


class EventReader:
    """Splits a stream of bytes into the data of its events, in linear time.

    Follows the WHATWG standard on server-sent events as far as chat completions need it: `data`
    lines, comments and other fields are skipped.
    """

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self.size = 0
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> Iterator[bytes]:
        """The data of the events that are complete now."""
        *lines, rest = received.split(b"\n")
        for line in lines:
            if self._pending:
                line = b"".join((*self._pending, line))
                self._pending.clear()
                self.size = 0
            yield from self._line(line)
        if rest:
            self._pending.append(rest)
            self.size += len(rest)
            if self.size > LARGEST_ANSWER:
                raise too_large("a line")

    def end(self) -> Iterator[bytes]:
        """The data of an event that the end of the stream completes."""
        yield from self.feed(b"\n\n")

    def _line(self, line: bytes) -> Iterator[bytes]:
        line = line.removesuffix(b"\r")
        if not line:
            if self._data:
                yield self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                self._data.clear()
        elif line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))


@dataclass(slots=True)
class ReplyReader:
    """Puts a reply together from its chunks."""

    watch: Watch | None = None
    listener: Listener | None = None
    finish_reason: str = ""
    usage: Mapping[str, int] = field(default_factory=dict[str, int])
    interruption: str = ""
    done: bool = False
    """Whether the stream said that nothing more comes."""
    refusal: Refusal | None = None
    """An error that came in place of the reply or inside it."""
    streamed: bool = True
    """Whether the reply came as the stream that was asked for."""
    first_piece: float | None = None
    """When the first text came, by `time.perf_counter`."""
    _content: list[str] = field(default_factory=list[str])
    _thinking: list[str] = field(default_factory=list[str])
    size: int = 0
    """Characters of answer and thinking that came."""
    pieces: int = 0
    """In how many pieces they did."""
    thinking_field: str = ""
    model: str = ""
    _logprobs: list[float] = field(default_factory=list[float])
    _look_at: int = WATCH_EVERY

    @property
    def content(self) -> str:
        return _join(self._content)

    @property
    def thinking(self) -> str:
        return _join(self._thinking)

    @property
    def logprob(self) -> float | None:
        """Mean over the tokens of the answer, without those of thinking that came in a field of its own."""
        return sum(self._logprobs) / len(self._logprobs) if self._logprobs else None

    @property
    def began(self) -> bool:
        """Whether any of the reply came."""
        return self.size > 0

    @property
    def ended(self) -> bool:
        """Whether the rest does not matter."""
        return self.done or self.refusal is not None or bool(self.interruption)

    def event(self, data: bytes) -> None:
        """Takes the data of one event."""
        if data.strip() == b"[DONE]":
            self.done = True
            return
        chunk = _json_object(data, "an event that is not JSON")
        self.refusal = refusal_in(chunk, 200)
        if self.refusal is None:
            self._take(chunk, "delta")
            self._look()

    def whole(self, body: bytes) -> None:
        """Takes a reply that came in one piece though a stream was asked for."""
        if body.lstrip().startswith((b"data:", b": ")):
            # A stream under another content type.
            events = EventReader()
            for data in (*events.feed(body), *events.end()):
                if not self.ended:
                    self.event(data)
            return
        self.streamed = False
        answer = _json_object(body, looks_like(body))
        self.refusal = refusal_in(answer, 200)
        if self.refusal is None:
            if not answer.get("choices"):
                raise MalformedReply("sends JSON that is no chat completion")
            self._take(answer, "message")
            self.done = True

    def check(self) -> None:
        """Makes sure that the reply came to its own end.

        Raises:
            MalformedReply: it did not.
            FilteredReply: a filter of the server ended it.
        """
        if self.finish_reason == "content_filter":
            raise FilteredReply
        if self.finish_reason in BROKEN_OFF:
            raise broken_reply(f"broke off its reply (finish_reason {self.finish_reason!r})")
        if not self.finish_reason and not (self.done and self.size):
            raise broken_reply("closed the connection in the middle of a reply")

    def _take(self, chunk: Mapping[str, Any], part: str) -> None:
        if chunk.get("usage"):
            self.usage = usage_of(chunk["usage"])
        choices: Any = chunk.get("choices")
        if not choices:
            return
        try:
            self.model = self.model or str(chunk.get("model") or "")
            choice = cast(dict[str, Any], choices[0])
            piece = cast(dict[str, Any], choice.get(part) or {})
            for name in THINKING_FIELDS:
                if thinking := piece.get(name):
                    self._add(self._thinking, thinking)
                    self.thinking_field = name
                    break
            self._add(self._content, text := piece.get("content"))
            if text and (told := choice.get("logprobs")):
                self._logprobs += [float(one["logprob"]) for one in told.get("content") or ()]
            if self.listener is not None and isinstance(text, str):
                self.listener.hear(text, thought=bool(self._thinking))
            if reason := choice.get("finish_reason"):
                self.finish_reason = str(reason)
        except (AttributeError, KeyError, TypeError):
            raise MalformedReply("sends JSON that is no chat completion") from None

    def _add(self, pieces: list[str], text: object) -> None:
        if not isinstance(text, str) or not text:
            return
        if self.first_piece is None:
            self.first_piece = time.perf_counter()
        pieces.append(text)
        self.pieces += 1
        self.size += len(text)
        if self.size > LARGEST_ANSWER:
            raise too_large("a reply")

    def _look(self) -> None:
        if self.watch is None or self.finish_reason or self.size < self._look_at:
            return
        self._look_at = self.size + max(WATCH_EVERY, self.size // 10)
        reason = self.watch(self.content, self.thinking)
        if reason is not None:
            self.interruption, self.finish_reason = reason, "interrupted"


async def read_reply(response: httpx2.Response, reader: ReplyReader, silence: float) -> None:
    """Reads the reply to a chat request to its end.

    Args:
        response: To a request for a stream; a whole answer is understood too.
        silence: Most seconds without text: comments and empty pieces keep a connection open, and are
            nothing that is said.

    Raises:
        MalformedReply: it is no reply.
        TransportError: it broke off, or no text came any more.
    """
    if "event-stream" not in response.headers.get("content-type", ""):
        reader.whole(await whole(response.aiter_bytes()))
        return
    events = EventReader()
    size, heard = 0, time.monotonic()
    async with aclosing(response.aiter_bytes()) as received:
        async for data in received:
            _take_all(events.feed(data), reader)
            if reader.ended:
                break
            now = time.monotonic()
            if reader.size > size:
                size, heard = reader.size, now
            elif now - heard > silence:
                raise TransportError("silent", seconds=silence)
        if reader.done:
            # The connection can be used again once the response is read to its end.
            with suppress(TimeoutError):
                async with asyncio.timeout(LEFTOVER_SECONDS):
                    async for _ in received:
                        pass
    if not reader.ended:
        _take_all(events.end(), reader)


def _take_all(events: Iterable[bytes], reader: ReplyReader) -> None:
    for event in events:
        reader.event(event)
        if reader.ended:
            return


def usage_of(told: object) -> dict[str, int]:
    """The tokens of a reply by our names, as far as the server tells."""
    usage = mapping(told)
    prompt = mapping(usage.get("prompt_tokens_details"))
    completion = mapping(usage.get("completion_tokens_details"))
    found = {
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "cached_tokens": prompt.get("cached_tokens"),
        # SGLang tells it at the top.
        "thinking_tokens": completion.get("reasoning_tokens", usage.get("reasoning_tokens")),
    }
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _json_object(data: bytes, otherwise: str) -> dict[str, Any]:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise MalformedReply(f"sends {otherwise}") from None
    if not isinstance(value, dict):
        raise MalformedReply("sends JSON that is no chat completion")
    return cast(dict[str, Any], value)


def mapping(value: object) -> Mapping[str, Any]:
    """A JSON value as an object; an empty one when it is none."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _join(pieces: list[str]) -> str:
    if len(pieces) > 1:
        pieces[:] = ["".join(pieces)]
    return pieces[0] if pieces else ""
