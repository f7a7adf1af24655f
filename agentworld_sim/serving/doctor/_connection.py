"""Requests of the doctor: plain HTTP, each failure put into words."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from socket import gaierror
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

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
        self._lock = threading.Lock()
        self._key = api_key
        self._timeout = timeout
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx2.Client(
            headers=headers,
            timeout=httpx2.Timeout(timeout, connect=min(10.0, timeout)),
            # A proxy of the environment cannot reach this machine's own addresses.
            trust_env=urlsplit(url).hostname not in LOOPBACK,
        )

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    @property
    def root(self) -> str:
        """The URL without `/v1`."""
        return self.url.removesuffix("/v1")

    def get(self, url: str) -> Page:
        """Fetches a page.

        Raises:
            Trouble: nothing came back.
        """
        try:
            response = self._client.get(url)
            text = response.text
        except httpx2.HTTPError as error:
            raise self._trouble(error) from None
        return Page(
            response.status_code,
            _is_html(response.headers.get("content-type", ""), text),
            self.redacted(text),
            response.headers.get("location"),
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
        try:
            response = self._client.post(
                f"{self.url}/chat/completions", json=self._body(model, messages, body)
            )
            text = response.text
        except httpx2.HTTPError as error:
            raise self._trouble(error) from None
        if response.status_code != 200:
            raise self._refused(response.status_code, text)
        answer = self._read(text, response.headers.get("content-type", ""))
        self._count(answer.prompt_tokens, answer.completion_tokens)
        return answer

    def time(self, model: str, messages: Messages, **body: Any) -> Timing:
        """One completion as a stream, by the clock.

        Raises:
            Trouble: it did not come to an end.
        """
        sent = {"stream": True, "stream_options": {"include_usage": True}, **body}
        began = time.perf_counter()
        first, pieces, tokens = 0.0, 0, 0
        try:
            with self._client.stream(
                "POST",
                f"{self.url}/chat/completions",
                json=self._body(model, messages, sent),
            ) as response:
                if response.status_code != 200:
                    raise self._refused(
                        response.status_code, response.read().decode("utf-8", "replace")
                    )
                for event in _events(response.iter_lines()):
                    if _carries_text(event):
                        first = first or time.perf_counter() - began
                        pieces += 1
                    usage = event.get("usage")
                    if isinstance(usage, dict):
                        counted = cast("dict[str, Any]", usage)
                        tokens = _number(counted.get("completion_tokens"))
        except httpx2.HTTPError as error:
            raise self._trouble(error) from None
        if not pieces:
            raise Trouble("the stream ended without any text")
        self._count(0, tokens or pieces)
        return Timing(first, time.perf_counter() - began, tokens or pieces)

    def redacted(self, text: str) -> str:
        """Without the key, which some servers repeat when they refuse it."""
        return text.replace(self._key, "***") if self._key else text

    def _body(self, model: str, messages: Messages, body: Mapping[str, Any]) -> dict[str, Any]:
        kept = {
            name: value for name, value in body.items() if self.extensions or name not in EXTENSIONS
        }
        return {"model": model, "messages": [dict(one) for one in messages], **kept}

    def _count(self, prompt: int, completion: int) -> None:
        with self._lock:
            self.requests += 1
            self.prompt_tokens += prompt
            self.completion_tokens += completion

    def _read(self, text: str, kind: str) -> Answer:
        if _is_html(kind, text):
            raise Trouble("an HTML page came back instead of an answer", CORRECT_URL)
        try:
            data = json.loads(text)
            choice = data["choices"][0]
            message = choice["message"]
        except (ValueError, KeyError, IndexError, TypeError):
            raise Trouble(f"the answer is not a chat completion: {self._excerpt(text)}") from None
        found = next((one for one in ("reasoning", "reasoning_content") if message.get(one)), None)
        return Answer(
            content=message.get("content") or "",
            reasoning=message[found] if found else "",
            reasoning_field=found,
            finish_reason=choice.get("finish_reason"),
            usage=data.get("usage") or {},
        )

    def _refused(self, status: int, text: str) -> Trouble:
        return Trouble(f"status {status}: {self._excerpt(text)}", status=status)

    def _excerpt(self, text: str) -> str:
        text = self.redacted(text)
        said = _said(text)
        line = " ".join(said.split())
        return line[:300] + ("…" if len(line) > 300 else "") if line else "(nothing)"

    def _trouble(self, error: httpx2.HTTPError) -> Trouble:
        parts = urlsplit(self.url)
        place = parts.netloc
        causes = tuple(_causes(error))
        if any(isinstance(one, gaierror) for one in causes):
            return Trouble(
                f"no host is called {parts.hostname!r} (DNS)",
                "Correct the host in the URL, or this machine's network.",
            )
        if any(isinstance(one, ssl.SSLError) for one in causes) or "SSL" in str(error):
            return Trouble(
                f"TLS with {place} fails: {error}",
                "If the server speaks plain HTTP, the URL begins with http://.",
            )
        if any(isinstance(one, ConnectionRefusedError) for one in causes):
            return Trouble(
                f"nothing listens at {place}",
                "Start a server (`agentworld serve`), or correct host and port.",
            )
        if isinstance(error, httpx2.ConnectTimeout):
            return Trouble(
                f"{place} does not answer the attempt to connect",
                "A firewall, or the wrong address.",
            )
        if isinstance(error, httpx2.TimeoutException):
            return Trouble(
                f"{place} took the request and sent nothing for {self._timeout:.0f} s",
                "It may still be loading, or hang: look at its log, or give --timeout.",
            )
        return Trouble(f"the connection to {place} broke: {error or type(error).__name__}")


CORRECT_URL = (
    "The URL is that of a website or a proxy. Give the base URL of the API; it ends in /v1."
)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_html(kind: str, text: str) -> bool:
    return "text/html" in kind or text.lstrip()[:9].lower().startswith(("<!doctype", "<html"))


def _said(text: str) -> str:
    """The message in an error's body, which every server puts elsewhere; else the body."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    for name in ("error", "message", "detail"):
        if isinstance(found, dict):
            found = cast("dict[str, object]", found).get(name, cast("object", found))
    return found if isinstance(found, str) else json.dumps(found)


def _dislikes_a_field(trouble: Trouble) -> bool:
    said = trouble.summary.lower()
    return trouble.status in (400, 422) and any(
        word in said for word in ("unrecognized", "unknown", "extra", "not permitted", *EXTENSIONS)
    )


def _events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if not line.startswith("data:") or line.endswith("[DONE]"):
            continue
        try:
            event = json.loads(line[5:])
        except ValueError:
            raise Trouble("the stream has an event that is not JSON") from None
        if "error" in event:
            raise Trouble(f"the stream broke off with an error: {event['error']}")
        yield event


def _carries_text(event: Mapping[str, Any]) -> bool:
    choices: list[dict[str, Any]] = event.get("choices") or []
    deltas: list[dict[str, Any]] = [one.get("delta") or {} for one in choices]
    names = ("content", "reasoning", "reasoning_content")
    return any(delta.get(name) for delta in deltas for name in names)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
