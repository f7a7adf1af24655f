"""How a language world model is reached and sampled."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from agentworld_sim.errors import UsageError, nearest

URL_VARIABLE = "AGENTWORLD_MODEL_URL"
MODEL_VARIABLE = "AGENTWORLD_MODEL"
KEY_VARIABLE = "AGENTWORLD_API_KEY"
PROMPTS_VARIABLE = "AGENTWORLD_PROMPTS"

_BASE_URL = "Give the base URL of an OpenAI-compatible API, for example http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Where the model is and how it is asked.

    Sampling defaults are those published for Qwen-AgentWorld-35B-A3B (its repository and technical
    report, arXiv 2606.24597).
    """

    url: str
    """Base URL of an OpenAI-compatible API, for example `http://127.0.0.1:8000/v1`."""
    model: str = ""
    """Name as served; empty for the only one there is."""
    api_key: str = field(default="", repr=False, compare=False)
    """Sent as a bearer token; never written anywhere."""
    temperature: float = 0.6
    top_p: float = 0.95
    top_k: int = 20
    thinking: bool = True
    """Whether the model thinks before it answers."""
    max_tokens: int = 32_768
    """Most tokens of one reply, thinking included. At 8,192 a quarter of the replies came back empty."""
    thinking_tokens: int | None = None
    """Most tokens of thinking in one reply. A server that can (vLLM, with a reasoning parser) ends the
    thinking there; a reply that thinks half as long again is broken off and asked for again without
    thinking. `None`: as much as fits."""
    context_tokens: int | None = None
    """Most tokens of prompt and reply together; what the server says by default."""
    token_budget: int | None = None
    """Most tokens, prompts and replies together, that one world may use. What a cache answers is
    free."""
    reasks: int = 3
    """How often a reply that cannot be used is asked for again, with the reason."""
    structured: Literal["auto", "off"] = "auto"
    """Whether a tool's output schema is enforced by the server where it can."""
    logprobs: bool = False
    """Whether the server is asked how likely each token of an answer was, for `Exchange.logprob`."""
    concurrency: int = 256
    """Requests under way at a time, per event loop."""
    retries: int = 4
    """How often a request is repeated after a lost connection, a 5xx or a 429."""
    connect_seconds: float = 10.0
    silence_seconds: float = 600.0
    """How long a server may be silent before it is given up: before the first token and between two.
    What carries no text is silence too."""
    reply_seconds: float = 3_600.0
    """How long one reply may take as a whole. The longest, 32,768 tokens, takes that at 9 tokens/s."""
    cache_entries: int = 4_096
    """Replies kept for equal requests; 0 keeps none."""
    examples: Path | None = None
    """A file of calls that the real system answered (`agentworld bench examples`): three are told with a call."""
    example_choice: Literal["likest", "fixed"] = "likest"
    """Whether those most like the call are told, or the same with every call of a tool."""
    history: bool = True
    """Whether earlier turns are told beside the records that a call needs; without records they always are."""
    samples: int = 1
    """How often each question is asked; what most of the answers say is taken."""
    calibration: Path | None = None
    """How sure an answer is, learnt from answers that were right and wrong (`agentworld bench calibrate`)."""
    threshold: float = 0.0
    """Below this confidence, from 0 to 1, an answer is not taken: the second model is asked, or the step fails."""
    second_url: str = ""
    """Base URL of the second model's server; that of the first by default."""
    second_model: str = ""
    """The second model's name as served; empty for none."""
    prompts: Path | None = None
    """A folder of prompt templates, `<domain>/system_prompt.txt`, instead of the shipped ones."""

    def __post_init__(self) -> None:
        require_url(self.url)
        at_least = dict.fromkeys(("reasks", "retries", "cache_entries"), 0)
        limits = ("max_tokens", "concurrency", "thinking_tokens", "context_tokens", "token_budget")
        at_least |= dict.fromkeys((*limits, "samples"), 1)
        for name, least in at_least.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} must be {least} or more, not {value!r}.")
        if not 0.0 <= self.threshold <= 1.0:
            raise UsageError(f"threshold must be from 0 to 1, not {self.threshold!r}.")

    @property
    def asks_logprobs(self) -> bool:
        """Whether something wants to know how likely an answer's tokens were."""
        return self.logprobs or self.rates_answers

    @property
    def rates_answers(self) -> bool:
        """Whether answers get a confidence."""
        return self.samples > 1 or self.calibration is not None or self.threshold > 0

    @property
    def second(self) -> ModelSettings | None:
        """How the second model is asked: as the first, but once, and it thinks; its answer is taken however sure."""
        if not self.second_model:
            return None
        return replace(
            self,
            url=self.second_url or self.url,
            model=self.second_model,
            thinking=True,
            samples=1,
            calibration=None,
            threshold=0.0,
            second_url="",
            second_model="",
        )

    @classmethod
    def find(
        cls,
        *,
        url: str | None = None,
        model: str | None = None,
        environment: Mapping[str, str] | None = None,
        **others: Any,
    ) -> ModelSettings | None:
        """The settings that options and environment variables give; `None` when no URL is set.

        An option wins over `AGENTWORLD_MODEL_URL`, `AGENTWORLD_MODEL` and `AGENTWORLD_PROMPTS`. The
        key comes from the environment only, from `AGENTWORLD_API_KEY`.

        Args:
            url: Instead of `AGENTWORLD_MODEL_URL`.
            model: Instead of `AGENTWORLD_MODEL`.
            environment: Instead of the process's.
            others: Other fields; those that are `None` are left at their defaults.

        Raises:
            UsageError: a value is not usable, or `others` names no field.
        """
        variables = os.environ if environment is None else environment
        known = [one.name for one in fields(cls)]
        for name in others:
            if name not in known:
                raise UsageError(
                    f"there is no model setting {name!r}.{nearest(name, known)} There are:"
                    f" {', '.join(known)}."
                )
        found = url or variables.get(URL_VARIABLE, "")
        if not found:
            return None
        settings = cls(
            url=found,
            model=model or variables.get(MODEL_VARIABLE, ""),
            api_key=variables.get(KEY_VARIABLE, ""),
            prompts=Path(prompts) if (prompts := variables.get(PROMPTS_VARIABLE)) else None,
        )
        return replace(
            settings, **{name: value for name, value in others.items() if value is not None}
        )


def require_url(url: str) -> None:
    """Says of a model's URL what is wrong with it, before anything is sent there.

    Raises:
        UsageError: it is no base URL, or carries a user or password.
    """
    shown = repr(_without_password(url))
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
        if not url.isprintable() or " " in url:
            raise ValueError("It has characters that no URL has")
        if not all(0 < len(part) < 64 for part in (name or "x").removesuffix(".").split(".")):
            raise ValueError("A part of its host is empty or too long")
    except ValueError as error:
        # With a password in it, the message could quote a part of that.
        why = "" if "@" in url else f" {error}."
        raise UsageError(f"the model URL {shown} is not one.{why} {_BASE_URL}") from None
    if parts.scheme not in ("http", "https") or not name or port == 0:
        guess = f" Did you mean {f'http://{url}'!r}?" if _lacks_scheme(url) else ""
        raise UsageError(f"the model URL {shown} is not one.{guess} {_BASE_URL}")
    if parts.username or parts.password:
        raise UsageError(
            f"the model URL {shown} contains a user or password, which would end up in records."
            f" Leave it out and set {KEY_VARIABLE}."
        )


def _lacks_scheme(url: str) -> bool:
    """Whether it is a host with a port or path, written as browsers show it."""
    return bool(re.fullmatch(r"[\w.-]+(:\d+(/\S*)?|/\S+)", url, re.ASCII))


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.partition('//')[0]}//…@{tail}" if at else url
