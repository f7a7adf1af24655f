"""From a scripted reply to what the model generated, and to the JSON that carries it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from agentworld_sim.llm.scripted._refusals import VERSION, Settings
from agentworld_sim.llm.scripted._script import ModelRequest, ScriptedReply
from agentworld_sim.llm.scripted.tokens import (
    BYTES_PER_TOKEN,
    END_OF_THINKING,
    count_tokens,
    encode,
)

FINGERPRINT: Final = f"vllm-{VERSION}"

UNUSED: Final = {
    "message": ("refusal", "annotations", "audio", "function_call"),
    "choice": ("token_ids", "routed_experts"),
    "completion": (
        *("service_tier", "prompt_logprobs", "prompt_token_ids", "prompt_text"),
        *("kv_transfer_params", "ec_transfer_params", "metrics"),
    ),
    "first chunk": ("prompt_token_ids", "prompt_text"),
}
"""Fields that vLLM (0.32) sends as null to who did not ask for them."""


@dataclass(frozen=True)
class Generation:
    """What came out of the model, thinking and content told apart."""

    thinking: str
    content: str | None
    """`None`: the limit came before the thinking ended, or nothing followed it."""
    finish_reason: Literal["stop", "length"]
    completion_tokens: int
    reasoning_tokens: int
    text: str
    """All that was generated, in one piece."""


def generate(reply: ScriptedReply, request: ModelRequest, settings: Settings) -> Generation:
    """The reply as far as the token limit lets it come."""
    text = f"{reply.thinking}{END_OF_THINKING}{reply.content}" if reply.thinking else reply.content
    limit = _limit(request, settings)
    finish_reason = reply.finish_reason
    if limit is not None and count_tokens(text) > limit:
        # A cut can fall into a character; the piece of it is not sent.
        text = encode(text)[: limit * BYTES_PER_TOKEN].decode("utf-8", errors="ignore")
        finish_reason = "length"
    thinking, content = _split_thinking(reply, text)
    return Generation(
        thinking=thinking,
        content=content,
        finish_reason=finish_reason,
        completion_tokens=count_tokens(text),
        reasoning_tokens=count_tokens(thinking),
        text=text,
    )


def _limit(request: ModelRequest, settings: Settings) -> int | None:
    if not settings.honour_max_tokens:
        return None
    room = max(settings.max_model_len - request.prompt_tokens, 0)
    return room if request.max_tokens is None else min(room, request.max_tokens)


def _split_thinking(reply: ScriptedReply, text: str) -> tuple[str, str | None]:
    if not reply.thinking:
        return "", text
    end = len(reply.thinking) + len(END_OF_THINKING)
    return text[: len(reply.thinking)], text[end:] or None


def message_of(generation: Generation, settings: Settings) -> dict[str, Any]:
    """The assistant message of an answer without a stream."""
    message: dict[str, Any] = {"role": "assistant"}
    if settings.dialect == "vllm":
        message |= dict.fromkeys(UNUSED["message"])
    if not settings.reasoning_parser:
        return {**message, "content": generation.text}
    return {
        **message,
        "content": generation.content,
        settings.thinking_field: generation.thinking or None,
    }


def deltas_of(
    generation: Generation, settings: Settings, chunk_size: int | None
) -> Iterator[dict[str, Any]]:
    """The pieces of the message in a stream, without the first that names the role."""
    if not settings.reasoning_parser:
        yield from ({"content": piece} for piece in _pieces(generation.text, chunk_size))
        return
    for piece in _pieces(generation.thinking, chunk_size):
        yield {settings.thinking_field: piece}
    for piece in _pieces(generation.content or "", chunk_size):
        yield {"content": piece}


def _pieces(text: str, size: int | None) -> Iterator[str]:
    step = size or max(len(text), 1)
    return (text[start : start + step] for start in range(0, len(text), step))


def usage_of(generation: Generation, request: ModelRequest, settings: Settings) -> dict[str, Any]:
    """The tokens of a request, in the fields of the server's dialect."""
    usage: dict[str, Any] = {
        "prompt_tokens": request.prompt_tokens,
        "total_tokens": request.prompt_tokens + generation.completion_tokens,
        "completion_tokens": generation.completion_tokens,
        "prompt_tokens_details": None,
    }
    if settings.report_cached_tokens:
        usage["prompt_tokens_details"] = _prompt_details(request, settings)
    if settings.reasoning_parser and settings.dialect == "vllm":
        details = {"reasoning_tokens": generation.reasoning_tokens}
        usage["completion_tokens_details"] = details
    if settings.reasoning_parser and settings.dialect == "sglang":
        usage["reasoning_tokens"] = generation.reasoning_tokens
    return usage


def _prompt_details(request: ModelRequest, settings: Settings) -> dict[str, Any]:
    details: dict[str, Any] = {"cached_tokens": request.cached_tokens}
    if settings.dialect == "vllm":
        size = settings.block_size if settings.prefix_caching else request.prompt_tokens + 1
        whole = request.prompt_tokens // size * size
        details["created_cache_tokens"] = max(whole - request.cached_tokens, 0)
        details["multimodal_tokens"] = None
    return details


def without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    """`value` without what is null, as the usage in a stream is."""
    known = {name: item for name, item in value.items() if item is not None}
    return {
        name: without_nulls(cast(dict[str, Any], item)) if isinstance(item, dict) else item
        for name, item in known.items()
    }


@dataclass(frozen=True)
class Envelope:
    """What all parts of one answer have in common."""

    request: ModelRequest
    settings: Settings
    created: int

    @classmethod
    def of(cls, request: ModelRequest, settings: Settings) -> Envelope:
        return cls(request, settings, int(time.time()))

    def completion(self, generation: Generation) -> dict[str, Any]:
        """The whole answer in one body."""
        choice = {
            "index": 0,
            "message": message_of(generation, self.settings),
            "logprobs": None,
            "finish_reason": generation.finish_reason,
            "stop_reason": None,
        }
        usage = usage_of(generation, self.request, self.settings)
        whole = {**self._head("chat.completion"), "choices": [choice], "usage": usage}
        if self.settings.dialect == "vllm":
            choice |= dict.fromkeys(UNUSED["choice"])
            whole |= {**dict.fromkeys(UNUSED["completion"]), "system_fingerprint": FINGERPRINT}
        return whole

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        """One event of a stream."""
        choice: dict[str, Any] = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": finish_reason,
        }
        if finish_reason is not None:
            choice["stop_reason"] = None
        whole = {**self._head("chat.completion.chunk"), "choices": [choice]}
        if self.settings.dialect == "vllm":
            # The first chunk, which names the role, has the prompt's part of what the others have.
            if "role" in delta:
                whole |= dict.fromkeys(UNUSED["first chunk"])
            else:
                choice["token_ids"] = None
        return event(whole)

    def usage_chunk(self, generation: Generation) -> bytes:
        """The event that ends a stream whose request asked for usage."""
        usage = usage_of(generation, self.request, self.settings)
        choices: list[Any] = []
        head = self._head("chat.completion.chunk")
        whole = {**head, "choices": choices, "usage": without_nulls(usage)}
        if self.settings.dialect == "vllm":
            whole["system_fingerprint"] = FINGERPRINT
        return event(whole)

    def _head(self, kind: str) -> dict[str, Any]:
        served = self.settings.models[0]
        # vLLM answers with its own first name, SGLang with the name it was asked for.
        asked = self.request.body.get("model") if self.settings.dialect == "sglang" else None
        return {
            "id": f"chatcmpl-{self.request.index:032x}",
            "object": kind,
            "created": self.created,
            "model": asked or served,
        }


def event(data: dict[str, Any]) -> bytes:
    """A server-sent event with a JSON object."""
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
