"""Requests of the doctor, each failure put into words."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

from agentworld_sim.llm._stream import Malformed, ReplyReader, read_reply
from agentworld_sim.llm.refusals import refusal_in
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.llm.transport import Response, Transport, TransportError
from agentworld_sim.runtime.sync import run_sync

EXTENSIONS = ("top_k", "chat_template_kwargs", "ignore_eos")
"""Request fields that OpenAI's own service does not have and some hosted ones refuse."""

Messages = Sequence[Mapping[str, str]]


class Trouble(Exception):
    """The server gave no usable answer."""

    def __init__(self, summary: str, advice: str | None = None, status: int | None = None) -> None:
        super().__init__(summary)
        self.summary = summary
        self.advice = advice
        self.status = status


@dataclass(frozen=True, slots=True)
class Page:
    """What a GET gave."""

    status: int
    is_html: bool
    text: str
    location: str | None

    def json(self) -> Any:
        """The body as JSON; `None` if it is not."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Answer:
    """A chat completion."""

    content: str = ""
    reasoning: str = ""
    reasoning_field: str | None = None
    finish_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def was_cut(self) -> bool:
        """Whether the limit ended it."""
        return self.finish_reason == "length"

    @property
    def completion_tokens(self) -> int:
        return _number(self.usage.get("completion_tokens"))

    @property
    def prompt_tokens(self) -> int:
        return _number(self.usage.get("prompt_tokens"))

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens from the prefix cache; `None` if the server does not say."""
        details = self.usage.get("prompt_tokens_details")
        if not isinstance(details, dict):
            return None
        found = cast("dict[str, Any]", details).get("cached_tokens")
        return found if isinstance(found, int) else None


@dataclass(frozen=True, slots=True)
class Timing:
    """A streamed answer by the clock."""

    first_token: float
    """Seconds from sending to the first text."""
    whole: float
    """Seconds to the end."""
    tokens: int


class Connection:
    """One server, asked with one key. Counts what it costs."""

    def __init__(self, url: str, *, api_key: str | None, timeout: float) -> None:
        self.url = url.rstrip("/")
        self.requests = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.extensions = True
        """Whether fields beside OpenAI's own are sent."""
        self._key = api_key
        self._settings = ModelSettings(
            url=url,
            api_key=api_key or "",
            connect_seconds=min(10.0, timeout),
            silence_seconds=timeout,
        )
        self._transport = Transport(self._settings)

    def close(self) -> None:
        """Closes the connections."""
        run_sync(self._transport.close())

    @property
    def root(self) -> str:
        """The URL without `/v1`."""
        return self.url.removesuffix("/v1")

    def get(self, url: str) -> Page:
        """Fetches a page.

        Raises:
            Trouble: nothing came back.
        """
        return run_sync(self._page(url))

    async def _page(self, url: str, body: bytes | None = None) -> Page:
        try:
            async with self._sent(url, body) as response:
                text = (await response.read()).decode("utf-8", "replace")
        except TransportError as error:
            raise self._trouble(error) from None
        return Page(
            response.status,
            _is_html(response.headers.get("content-type", ""), text),
            self.redacted(text),
            response.headers.get("location"),
        )

    def _sent(self, url: str, body: bytes | None) -> AbstractAsyncContextManager[Response]:
        return self._transport.send(
            url,
            body,
            silence=self._settings.silence_seconds,
            seconds=self._settings.reply_seconds,
        )

    def chat(self, model: str, messages: Messages, **body: Any) -> Answer:
        """One completion.

        Raises:
            Trouble: there was none.
        """
        try:
            return self._chat(model, messages, body)
        except Trouble as trouble:
            if not (self.extensions and _dislikes_a_field(trouble)):
                raise
            self.extensions = False
            return self._chat(model, messages, body)

    def _chat(self, model: str, messages: Messages, body: Mapping[str, Any]) -> Answer:
        page = run_sync(self._page(self._address, self._body(model, messages, body)))
        if page.status != 200:
            raise _refused(page.status, page.text)
        answer = _read(page)
        self._count(answer.prompt_tokens, answer.completion_tokens)
        return answer

    def times(self, model: str, several: Sequence[Messages], **body: Any) -> list[Timing]:
        """Completions as streams, side by side and by the clock.

        Raises:
            Trouble: one did not come to an end.
        """
        sent = {"stream": True, "stream_options": {"include_usage": True}, **body}
        bodies = [self._body(model, messages, sent) for messages in several]

        async def together() -> list[Timing]:
            return await asyncio.gather(*map(self._time, bodies))

        return run_sync(together())

    async def _time(self, body: bytes) -> Timing:
        began = time.perf_counter()
        reader = ReplyReader()
        try:
            async with self._sent(self._address, body) as response:
                if response.status != 200:
                    told = (await response.read()).decode("utf-8", "replace")
                    raise _refused(response.status, self.redacted(told))
                await read_reply(response, reader, self._settings.silence_seconds)
        except TransportError as error:
            raise self._trouble(error) from None
        except Malformed as error:
            raise Trouble(f"the server {error}") from None
        if reader.refusal is not None:
            said = self.redacted(reader.refusal.message)
            raise Trouble(f"the stream broke off with an error: {said}")
        if reader.first_piece is None:
            raise Trouble("the stream ended without any text")
        tokens = reader.usage.get("completion_tokens") or reader.pieces
        self._count(0, tokens)
        return Timing(reader.first_piece - began, time.perf_counter() - began, tokens)

    @property
    def _address(self) -> str:
        return f"{self.url}/chat/completions"

    def redacted(self, text: str) -> str:
        """Without the key, which some servers repeat when they refuse it."""
        return text.replace(self._key, "***") if self._key else text

    def _body(self, model: str, messages: Messages, body: Mapping[str, Any]) -> bytes:
        kept = {
            name: value for name, value in body.items() if self.extensions or name not in EXTENSIONS
        }
        return json.dumps({"model": model, "messages": [*messages], **kept}).encode()

    def _count(self, prompt: int, completion: int) -> None:
        self.requests += 1
        self.prompt_tokens += prompt
        self.completion_tokens += completion

    def _trouble(self, error: TransportError) -> Trouble:
        parts = urlsplit(self.url)
        place, detail = parts.netloc, self.redacted(error.detail)
        match error.cause:
            case "unknown host":
                return Trouble(
                    f"no host is called {parts.hostname!r} (DNS)",
                    "Correct the host in the URL, or this machine's network.",
                )
            case "tls":
                return Trouble(
                    f"TLS with {place} fails: {detail}",
                    "If the server speaks plain HTTP, the URL begins with http://.",
                )
            case "refused":
                return Trouble(
                    f"nothing listens at {place}",
                    "Start a server (`agentworld serve`), or correct host and port.",
                )
            case "no connection":
                return Trouble(
                    f"{place} does not answer the attempt to connect",
                    "A firewall, or the wrong address.",
                )
            case "silent":
                return Trouble(
                    f"{place} took the request and sent nothing for"
                    f" {self._settings.silence_seconds:.0f} s",
                    "It may still be loading, or hang: look at its log, or give --timeout.",
                )
            case "late":
                return Trouble(f"{place} was not done in {self._settings.reply_seconds:.0f} s")
            case _:
                return Trouble(f"the connection to {place} broke: {detail}")


CORRECT_URL = (
    "The URL is that of a website or a proxy. Give the base URL of the API; it ends in /v1."
)


def _is_html(kind: str, text: str) -> bool:
    return "text/html" in kind or text.lstrip()[:9].lower().startswith(("<!doctype", "<html"))


def _read(page: Page) -> Answer:
    if page.is_html:
        raise Trouble("an HTML page came back instead of an answer", CORRECT_URL)
    data = page.json()
    try:
        choice = data["choices"][0]
        message = choice["message"]
    except (KeyError, IndexError, TypeError):
        raise Trouble(f"the answer is not a chat completion: {_excerpt(page.text)}") from None
    found = next((one for one in ("reasoning", "reasoning_content") if message.get(one)), None)
    return Answer(
        content=message.get("content") or "",
        reasoning=message[found] if found else "",
        reasoning_field=found,
        finish_reason=choice.get("finish_reason"),
        usage=data.get("usage") or {},
    )


def _refused(status: int, text: str) -> Trouble:
    return Trouble(f"status {status}: {_excerpt(text)}", status=status)


def _excerpt(text: str) -> str:
    """The message in an error's body; else the body."""
    try:
        told = refusal_in(json.loads(text), 500)
    except (ValueError, RecursionError):
        told = None
    line = " ".join((told.message if told else text).split())
    return line[:300] + ("…" if len(line) > 300 else "") if line else "(nothing)"


def _dislikes_a_field(trouble: Trouble) -> bool:
    said = trouble.summary.lower()
    return trouble.status in (400, 422) and any(
        word in said for word in ("unrecognized", "unknown", "extra", "not permitted", *EXTENSIONS)
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
