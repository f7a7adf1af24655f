"""What goes wrong between us and a model server: what servers say when they do not answer, read into values, and
our messages: where, what, and what to do.

The texts of a context overflow are interface facts of vLLM (0.9 to 0.32), SGLang, OpenAI's service
and llama.cpp, as their sources and their users' reports show them.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import urlsplit, urlunsplit

from agentworld_sim.errors import ContextOverflow, ModelFailure, ModelRefused, ModelUnavailable
from agentworld_sim.llm.settings import KEY_VARIABLE, URL_VARIABLE, ModelSettings

LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of one answer or line and characters of one reply. A full context of 262,144 tokens has a few
megabytes of text."""

SESSION_HEADER = "x-session-id"
"""What vLLM's router (0.1.17) sends to one replica with its policy `consistent_hash`."""

Cause = Literal[
    "unknown host",
    "refused",
    "no connection",
    "cannot reach",
    "proxy",
    "tls",
    "silent",
    "late",
    "too large",
    "lost",
]


class TransportError(Exception):
    """No response came, or it broke off."""

    def __init__(self, cause: Cause, detail: str = "", *, seconds: float = 0.0) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause: Cause = cause
        self.detail = detail
        """What the libraries say, for causes that do not say everything."""
        self.seconds = seconds
        """How long it was silent or took."""


async def whole(pieces: AsyncIterator[bytes]) -> bytes:
    """A body as one.

    Raises:
        TransportError: it is larger than `LARGEST_ANSWER`.
    """
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > LARGEST_ANSWER:
            raise TransportError("too large")
    return bytes(body)


QUOTED = 400
"""Characters of a server's own words in a message of ours."""

OVERFLOW = re.compile(
    r"maximum context length|context_length_exceeded|longer than the (?:model's context length|"
    r"maximum model length)|max_model_len|exceeds? the (?:available )?context (?:size|length|window)"
    r"|prompt is too long|exceeds limit of",
    re.IGNORECASE,
)

LIMITS = (
    r"max_model_len=(\d+)",
    r"maximum (?:context|model) length (?:is|of) (\d+)",
    r"context length \((\d+) tokens\)",
    r"context size \((\d+) tokens\)",
    r"exceeds limit of (\d+)",
)

TOTALS = (
    r"requested a total of (\d+)",
    r"for a total of at least (\d+)",
    r"you requested (\d+) tokens",
    r"resulted in (\d+) tokens",
)

PROMPTS = (
    r"contains at least (\d+) input tokens",
    r"has (\d+) input tokens",
    r"\((?:length )?(\d+)(?: tokens)?\) (?:is (?:too )?long|exceeds)",
)

REPLIES = (r"max_tokens=(\d+)", r"too large: (\d+)", r"requested (\d+) output tokens")


@dataclass(frozen=True, slots=True)
class Overflow:
    """A request that does not fit into the context, as far as the server says."""

    limit: int | None
    asked: int | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as a server reports it."""

    status: int
    """Of the response, or the code inside a stream that began well."""
    message: str
    code: str = ""
    fields: tuple[str, ...] = ()
    """The request's fields that it is about."""

    def names(self, field: str) -> bool:
        """Whether it is about a field of the request."""
        return field in self.fields or re.search(rf"\b{field}\b", self.message) is not None

    @property
    def overflow(self) -> Overflow | None:
        """The limit and what was asked for, when the context is too small."""
        if self.status not in (400, 413, 422):
            return None
        if self.code != "context_length_exceeded" and not OVERFLOW.search(self.message):
            return None
        asked = _first(TOTALS, self.message)
        if asked is None:
            prompt, reply = _first(PROMPTS, self.message), _first(REPLIES, self.message)
            told = [tokens for tokens in (prompt, reply) if tokens is not None]
            asked = sum(told) if told else None
        return Overflow(_first(LIMITS, self.message), asked)

    @property
    def about_model(self) -> bool:
        """Whether the model's name is what is wrong."""
        if self.code == "model_not_found":
            return True
        return self.status in (400, 404) and bool(
            re.search(
                r"\bmodel\b.*(?:does not exist|not found|not exist|unknown|not supported|not served)"
                r"|(?:unknown|invalid|no such) model",
                self.message,
                re.IGNORECASE,
            )
        )


def refusal_in(body: object, status: int) -> Refusal | None:
    """The error that a JSON body reports, or `None` when it reports none.

    Understood are OpenAI's and vLLM's `{"error": {…}}`, `{"error": "…"}`, the flat form of SGLang
    and older vLLM (`{"object": "error", "message": …}`) and FastAPI's `{"detail": …}`.
    """
    if not isinstance(body, dict):
        return None
    whole = cast(dict[str, Any], body)
    error: Any = whole.get("error")
    if "choices" in whole and not error:
        return None
    if isinstance(error, str):
        return Refusal(status, error)
    if isinstance(error, dict):
        return _read_error(cast(dict[str, Any], error), status)
    if whole.get("object") == "error":
        return _read_error(whole, status)
    if "detail" in whole:
        return _detail(whole["detail"], status)
    if status >= 400 and isinstance(whole.get("message"), str):
        return _read_error(whole, status)
    return None


def _read_error(error: Mapping[str, Any], status: int) -> Refusal:
    code: Any = error.get("code")
    # A stream that began well can only say its status in the error itself.
    if status == 200:
        status = _status_of(code, str(error.get("type") or ""))
    param: Any = error.get("param")
    fields = (param.removeprefix("body.").partition(".")[0],) if isinstance(param, str) else ()
    message: Any = error.get("message")
    text = message if isinstance(message, str) and message else json.dumps(dict(error))
    return Refusal(status, text, code if isinstance(code, str) else "", fields)


def _status_of(code: object, kind: str) -> int:
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    if isinstance(code, int) and 400 <= code < 600:
        return code
    invalid = code == "context_length_exceeded" or re.search(
        r"bad_?request|invalid|notfound|not_found", kind, re.IGNORECASE
    )
    return 400 if invalid else 500


def _detail(detail: object, status: int) -> Refusal:
    if isinstance(detail, str):
        return Refusal(status, detail)
    fields: list[str] = []
    texts: list[str] = []
    for entry in _mappings(detail):
        place: list[object] = list(entry.get("loc") or ())
        named = [str(part) for part in place if part != "body"]
        fields += named[:1]
        texts.append(f"{'.'.join(named)}: {entry.get('msg', '')}")
    text = "; ".join(texts) or json.dumps(detail, default=str)
    return Refusal(status, text, fields=tuple(fields))


def _mappings(value: object) -> Iterator[dict[str, Any]]:
    for entry in cast(list[object], value) if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield cast(dict[str, Any], entry)


def _first(patterns: tuple[str, ...], text: str) -> int | None:
    for pattern in patterns:
        if found := re.search(pattern, text, re.IGNORECASE):
            return int(found.group(1))
    return None


def quote(text: str, key: str) -> str:
    """A server's words on one line, short, and without the key should it repeat that."""
    if key:
        text = text.replace(key, "…")
    text = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * QUOTED]).split())
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"


def looks_like(body: bytes) -> str:
    """What a body that is no JSON seems to be, in words."""
    text = body[:65_536].decode("utf-8", errors="replace")
    if not text.strip():
        return "nothing"
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title and title.group(1).strip():
        return f"an HTML page titled {' '.join(title.group(1).split())[:80]!r}"
    if re.match(r"\s*(?:<!doctype html|<html)", text, re.IGNORECASE):
        return "an HTML page"
    start = " ".join("".join(c if c.isprintable() else " " for c in text[:240]).split())
    kind = "broken JSON" if start.startswith(("{", "[")) else "something that is not JSON"
    return f"{kind}, beginning {start[:60]!r}"


@dataclass(slots=True)
class Failures:
    """Makes the errors of one server."""

    settings: ModelSettings = field(repr=False)
    model: str = ""
    """The name that is asked for, once it is known."""

    @property
    def place(self) -> str:
        """The server and the model, as every message begins."""
        name = self.settings.model or self.model
        model = f" (model {name!r})" if name else ""
        return f"the model server {display_url(self.settings.url)}{model}"

    def connection(self, error: TransportError) -> ModelUnavailable:
        """No connection, or a lost one."""
        detail = quote(error.detail, self.settings.api_key).rstrip(".")
        match error.cause:
            case "unknown host":
                host = urlsplit(self.settings.url).hostname
                what = f"cannot be reached: the host {host!r} is not known. Correct {URL_VARIABLE}."
            case "tls":
                what = (
                    f"cannot be reached over TLS: {detail}. A server that speaks plain HTTP wants an"
                    " http:// URL; a certificate of your own is named in SSL_CERT_FILE."
                )
            case "refused":
                what = (
                    "cannot be reached: nothing listens there. Start one with `agentworld serve`, or"
                    f" correct {URL_VARIABLE}."
                )
            case "no connection":
                what = (
                    f"took no connection within {self.settings.connect_seconds:g} s. Is the host up,"
                    " and does a firewall let you through?"
                )
            case "proxy":
                what = (
                    f"cannot be reached through the proxy: {detail}. Name the host in NO_PROXY if it"
                    " needs none."
                )
            case "silent":
                what = (
                    f"sent nothing for {error.seconds:g} s and was given up. Is it overloaded or stuck?"
                    " Look into its log, or allow more with silence_seconds."
                )
            case "late":
                what = (
                    f"was given up: its reply was not whole after {error.seconds:g} s. Allow fewer"
                    " tokens with max_tokens, or more time with reply_seconds."
                )
            case "too large":
                what = (
                    f"sends an answer of more than {LARGEST_ANSWER >> 20} MB. No model writes that"
                    " much: look into the server's log."
                )
            case "cannot reach":
                what = f"cannot be reached: {detail}. Look into the server's log."
            case "lost":
                what = f"broke off: {detail}. Look into the server's log."
        return ModelUnavailable(f"{self.place} {what}")

    def content_filter(self) -> ModelRefused:
        return ModelRefused(
            f"{self.place} kept back a part of its reply (finish_reason 'content_filter'). Correct the"
            " server's filter, or ask a server without one."
        )

    def closed_client(self) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self.place} was not waited for: the client was closed. Close it when all is answered."
        )

    def nonsense(self, what: str, hint: str = "") -> ModelUnavailable:
        return ModelUnavailable(
            f"{self.place} {quote(what, self.settings.api_key)}."
            f"{hint or f' Is {URL_VARIABLE} the base URL of an OpenAI-compatible API?'}"
        )

    def unavailable(self, status: int, said: str) -> ModelUnavailable:
        step = (
            "Ask for less at a time with a lower concurrency."
            if status == 429
            else "Look into the server's log."
        )
        return ModelUnavailable(f"{self.place} answers with {status}: {self._words(said)}. {step}")

    def error_in_reply(self, refusal: Refusal) -> ModelFailure:
        """An error under a status that says all is well."""
        if refusal.status == 429 or refusal.status >= 500:
            return ModelUnavailable(
                f"{self.place} reports an error in the place of a reply:"
                f" {self._words(refusal.message)}. Look into the server's log."
            )
        return self.refusal(refusal)

    def key(self, status: int, said: str) -> ModelRefused:
        step = (
            f"{KEY_VARIABLE} is set, but to the wrong key."
            if self.settings.api_key
            else f"Set {KEY_VARIABLE}."
        )
        return ModelRefused(f"{self.place} refuses the key ({status}: {self._words(said)}). {step}")

    def redirect(self, status: int, location: str) -> ModelRefused:
        return ModelRefused(
            f"{self.place} answers with {status} and points to {display_url(location)!r}. Set"
            f" {URL_VARIABLE} to where it leads."
        )

    def missing(self, status: int, said: str, hint: str) -> ModelRefused:
        """No such page."""
        step = hint or (
            f" {URL_VARIABLE} must be the base URL of an OpenAI-compatible API; most end in /v1."
        )
        return ModelRefused(
            f"{self.place} has no such address ({status}: {self._words(said)}).{step}"
        )

    def overflow(self, refusal: Refusal) -> ContextOverflow:
        told = refusal.overflow
        error = ContextOverflow(
            f"{self.place} refuses the request, which does not fit into the model's context:"
            f" {self._words(refusal.message)}. Serve the model with a longer context, or set"
            " context_tokens to what it has."
        )
        if told is not None:
            error.limit, error.asked = told.limit, told.asked
        return error

    def refusal(self, refusal: Refusal) -> ModelFailure:
        """What is left when nothing more particular is known."""
        if refusal.overflow is not None:
            return self.overflow(refusal)
        if refusal.status in (401, 403):
            return self.key(refusal.status, refusal.message)
        if refusal.status == 429 or refusal.status >= 500:
            return self.unavailable(refusal.status, refusal.message)
        return ModelRefused(
            f"{self.place} refuses the request ({refusal.status}): {self._words(refusal.message)}."
            " Correct the setting it names."
        )

    def _words(self, said: str) -> str:
        return quote(said, self.settings.api_key).rstrip(".") or "no reason given"


def display_url(url: str) -> str:
    """A URL without what may be secret: user, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no URL)"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", "")).rstrip("/")
