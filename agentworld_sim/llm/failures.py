"""The messages of what goes wrong between us and a model server: where, what, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from agentworld_sim.errors import ContextOverflow, ModelFailure, ModelRefused, ModelUnavailable
from agentworld_sim.llm._bodies import LARGEST_ANSWER, TransportError
from agentworld_sim.llm.refusals import Refusal, quoted
from agentworld_sim.llm.settings import KEY_VARIABLE, URL_VARIABLE, ModelSettings


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
        return f"the model server {shown(self.settings.url)}{model}"

    def connection(self, error: TransportError) -> ModelUnavailable:
        """No connection, or a lost one."""
        detail = quoted(error.detail, self.settings.api_key).rstrip(".")
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

    def filtered(self) -> ModelRefused:
        return ModelRefused(
            f"{self.place} kept back a part of its reply (finish_reason 'content_filter'). Correct the"
            " server's filter, or ask a server without one."
        )

    def broken(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self.place} {what}. Look into the server's log.")

    def closed(self) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self.place} was not waited for: the client was closed. Close it when all is answered."
        )

    def nonsense(self, what: str, hint: str = "") -> ModelUnavailable:
        return ModelUnavailable(
            f"{self.place} {quoted(what, self.settings.api_key)}."
            f"{hint or f' Is {URL_VARIABLE} the base URL of an OpenAI-compatible API?'}"
        )

    def unavailable(self, status: int, said: str) -> ModelUnavailable:
        step = (
            "Ask for less at a time with a lower concurrency."
            if status == 429
            else "Look into the server's log."
        )
        return ModelUnavailable(f"{self.place} answers with {status}: {self._words(said)}. {step}")

    def reported(self, refusal: Refusal) -> ModelFailure:
        """An error under a status that says all is well."""
        if refusal.status == 429 or refusal.status >= 500:
            return ModelUnavailable(
                f"{self.place} reports an error in the place of a reply:"
                f" {self._words(refusal.message)}. Look into the server's log."
            )
        return self.refused(refusal)

    def key(self, status: int, said: str) -> ModelRefused:
        step = (
            f"{KEY_VARIABLE} is set, but to the wrong key."
            if self.settings.api_key
            else f"Set {KEY_VARIABLE}."
        )
        return ModelRefused(f"{self.place} refuses the key ({status}: {self._words(said)}). {step}")

    def redirect(self, status: int, location: str) -> ModelRefused:
        return ModelRefused(
            f"{self.place} answers with {status} and points to {shown(location)!r}. Set"
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

    def refused(self, refusal: Refusal) -> ModelFailure:
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
        return quoted(said, self.settings.api_key).rstrip(".") or "no reason given"


def shown(url: str) -> str:
    """A URL without what may be secret: user, password, query and fragment."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no URL)"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", "")).rstrip("/")
