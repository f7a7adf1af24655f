"""`HttpPolicy`: samples from a model server, with token ids in both directions."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from agentworld_sim.errors import ModelFailure, UsageError
from agentworld_sim.llm.client import ChatClient
from agentworld_sim.llm.settings import KEY_VARIABLE, MODEL_VARIABLE, URL_VARIABLE, ModelSettings
from agentworld_sim.rollouts.policies import Completion

NO_TOKEN_IDS = (
    "A policy is trained on exactly the tokens that it sampled: serve it with vLLM 0.10.2 or newer,"
    " whose completions know return_token_ids."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPolicySettings:
    """Where a policy is served and how it is sampled. The key is in AGENTWORLD_API_KEY."""

    url: str
    """Base URL of an OpenAI-compatible server, for example `http://127.0.0.1:8000/v1`."""
    model: str = ""
    """Name as served; empty for the only one there is."""
    temperature: float = 1.0
    stop_ids: tuple[int, ...] = ()
    """Tokens that end a turn, beside those of the model's own configuration: `TurnTokens.stop_ids`."""
    processed_logprobs: bool = False
    """Whether the server tells log-probabilities after the temperature (vLLM: `--logprobs-mode
    processed_logprobs`). Without that they are before it, which is the same at 1 only."""
    concurrency: int = 256
    """Requests under way at a time."""
    retries: int = 4
    """How often a request is repeated after a lost connection, a 5xx or a 429."""
    connect_seconds: float = 10.0
    silence_seconds: float = 600.0
    """How long the server may take for one turn."""

    def __post_init__(self) -> None:
        if self.temperature != 1 and not self.processed_logprobs:
            raise UsageError(
                f"with a temperature of {self.temperature:g} the server's log-probabilities are not those"
                " of the distribution it samples from. Serve with `--logprobs-mode processed_logprobs`"
                " and set processed_logprobs, or set temperature to 1."
            )


class HttpPolicy:
    """Implements `Policy` with `/v1/completions` of vLLM.

    A lost connection, also in the middle of an answer, a 5xx and a 429 are tried again; the seed makes
    the second answer the same as the first would have been.
    """

    def __init__(
        self,
        settings: HttpPolicySettings,
        *,
        environment: Mapping[str, str] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """
        Args:
            environment: Instead of the process's variables.
            sleep: Waits between two attempts; tests give their own.

        Raises:
            UsageError: the URL is none, or the key cannot be sent.
        """
        self.settings = settings
        self.version = 0
        """The optimiser step of the weights; set by whoever brings them there."""
        variables = os.environ if environment is None else environment
        connection = ModelSettings(
            url=settings.url,
            model=settings.model,
            api_key=variables.get(KEY_VARIABLE, ""),
            concurrency=settings.concurrency,
            retries=settings.retries,
            connect_seconds=settings.connect_seconds,
            silence_seconds=settings.silence_seconds,
        )
        self._client = ChatClient(connection, sleep=sleep)

    async def complete(
        self, prompt_ids: Sequence[int], *, max_tokens: int, seed: int
    ) -> Completion:
        choice = await self._choice_of(
            {
                "prompt": list(prompt_ids),
                "max_tokens": max_tokens,
                "seed": seed,
                # Said aloud: a server takes what is left out from the model's own configuration.
                "temperature": self.settings.temperature,
                "top_p": 1.0,
                "top_k": -1,
                "min_p": 0.0,
                "repetition_penalty": 1.0,
                "stop_token_ids": list(self.settings.stop_ids),
                "logprobs": 0,
                "return_token_ids": True,
            }
        )
        ids = _numbers(choice.get("token_ids"), int)
        if not ids:
            self._client.unusable(f"answers without token ids. {NO_TOKEN_IDS}")
        told = cast("Mapping[str, Any]", choice.get("logprobs") or {})
        logprobs = _numbers(told.get("token_logprobs"), float)
        if logprobs is None or len(logprobs) != len(ids):
            given = "no" if logprobs is None else len(logprobs)
            self._client.unusable(
                f"tells {given} log-probabilities for {len(ids)} tokens. Serve the policy with vLLM"
                " 0.10.2 or newer, with logprobs allowed (--max-logprobs)."
            )
        return Completion(
            token_ids=tuple(ids),
            logprobs=tuple(logprobs),
            finish=self._finish(choice.get("finish_reason")),
            version=self.version,
        )

    async def prompt_logprobs(self, ids: Sequence[int]) -> tuple[float, ...]:
        """What the server's weights say of given tokens.

        Returns:
            The natural log-probability of every token but the first.

        Raises:
            ModelFailure: the server is down, or does not tell.
        """
        choice = await self._choice_of(
            {"prompt": list(ids), "max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
        )
        told: object = choice.get("prompt_logprobs")
        found = cast("list[Any]", told) if isinstance(told, list) else []
        try:
            values = [
                float(one[str(id)]["logprob"]) for one, id in zip(found, ids, strict=True) if one
            ]
        except (KeyError, TypeError, ValueError):
            values = []
        if len(values) != len(ids) - 1:
            self._client.unusable(
                "does not tell prompt_logprobs, so its weights cannot be compared with the trainer's."
                " Serve the policy with vLLM."
            )
        return tuple(values)

    async def close(self) -> None:
        """Closes the connections of the running event loop. The policy can be used again."""
        await self._client.close()

    async def _choice_of(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The only choice of an answer."""
        try:
            return await self._client.complete(fields)
        except ModelFailure as failure:
            # What reaches models of worlds is set by variables, a policy by its recipe.
            text = str(failure).replace(URL_VARIABLE, "the policy's url")
            failure.args = (text.replace(MODEL_VARIABLE, "the policy's model"),)
            raise

    def _finish(self, reason: object) -> Literal["stop", "length"]:
        if reason == "stop":
            return "stop"
        if reason == "length":
            return "length"
        self._client.unusable(
            f"ended a turn for the reason {reason!r}. Look into the server's log."
        )


def _numbers(value: object, kind: type[int | float]) -> list[Any] | None:
    """The list, if it is one of finite numbers."""
    if not isinstance(value, list):
        return None
    found = cast("list[object]", value)
    allowed = (int,) if kind is int else (int, float)
    if any(isinstance(one, bool) or not isinstance(one, allowed) for one in found):
        return None
    return found if all(math.isfinite(cast(float, one)) for one in found) else None
