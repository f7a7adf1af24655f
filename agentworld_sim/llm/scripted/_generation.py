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


LOGPROB = -0.1
"""Of every piece of a reply, where that is asked for."""


@dataclass(frozen=True)
class Generation:
    """What came out of the model, thinking and content told apart, and the JSON that carries it."""

    request: ModelRequest
    settings: Settings
    reply: ScriptedReply
    text: str
    """All that was generated, in one piece."""
    thinking: str
    content: str | None
    """`None`: the limit came before the thinking ended, or nothing followed it."""
    finish_reason: Literal["stop", "length"]
    created: int

    @classmethod
    def of(cls, reply: ScriptedReply, request: ModelRequest, settings: Settings) -> Generation:
        """The reply as far as the token limit lets it come."""
        before = f"{reply.thinking}{END_OF_THINKING}" if reply.thinking else ""
        text, finish_reason, limit = f"{before}{reply.content}", reply.finish_reason, None
        if settings.honour_max_tokens:
            room = max(settings.max_model_len - request.prompt_tokens, 0)
            limit = room if request.max_tokens is None else min(room, request.max_tokens)
        if limit is not None and count_tokens(text) > limit:
            # A cut can fall into a character; the piece of it is not sent.
            text = encode(text)[: limit * BYTES_PER_TOKEN].decode("utf-8", errors="ignore")
            finish_reason = "length"
        content = (text[len(before) :] or None) if before else text
        thinking = text[: len(reply.thinking)]
        created = int(time.time())
        return cls(request, settings, reply, text, thinking, content, finish_reason, created)

    @property
    def completion_tokens(self) -> int:
        return count_tokens(self.text)

    def chunks(self) -> Iterator[bytes]:
        """The events of a stream up to its last text."""
        yield self.chunk({"role": "assistant", "content": ""})
        parts = {self.settings.thinking_field: self.thinking, "content": self.content or ""}
        if not self.settings.reasoning_parser:
            parts = {"content": self.text}
        for name, text in parts.items():
            step = self.reply.chunk_size or max(len(text), 1)
            for start in range(0, len(text), step):
                yield self.chunk({name: text[start : start + step]})

    def completion(self) -> dict[str, Any]:
        """The whole answer in one body."""
        choice = {
            "index": 0,
            "message": self._message(),
            "logprobs": None,
            "finish_reason": self.finish_reason,
            "stop_reason": None,
        }
        usage = self._usage()
        whole = {**self._head("chat.completion"), "choices": [choice], "usage": usage}
        if self.settings.dialect == "vllm":
            choice |= dict.fromkeys(UNUSED["choice"])
            whole |= {**dict.fromkeys(UNUSED["completion"]), "system_fingerprint": FINGERPRINT}
        return whole

    def chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
        """One event of a stream."""
        pieces = [{"token": delta["content"], "logprob": LOGPROB}] if delta.get("content") else []
        choice: dict[str, Any] = {
            "index": 0,
            "delta": delta,
            "logprobs": {"content": pieces} if self.request.body.get("logprobs") else None,
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

    def usage_chunk(self) -> bytes:
        """The event that ends a stream whose request asked for usage."""
        usage = self._usage()
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

    def _message(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant"}
        if self.settings.dialect == "vllm":
            message |= dict.fromkeys(UNUSED["message"])
        if not self.settings.reasoning_parser:
            return {**message, "content": self.text}
        field = self.settings.thinking_field
        return {**message, "content": self.content, field: self.thinking or None}

    def _usage(self) -> dict[str, Any]:
        """The tokens of the request, in the fields of the server's dialect."""
        request, settings = self.request, self.settings
        usage: dict[str, Any] = {
            "prompt_tokens": request.prompt_tokens,
            "total_tokens": request.prompt_tokens + self.completion_tokens,
            "completion_tokens": self.completion_tokens,
            "prompt_tokens_details": None,
        }
        if settings.report_cached_tokens:
            details: dict[str, Any] = {"cached_tokens": request.cached_tokens}
            if settings.dialect == "vllm":
                size = settings.block_size if settings.prefix_caching else request.prompt_tokens + 1
                whole = request.prompt_tokens // size * size
                details["created_cache_tokens"] = max(whole - request.cached_tokens, 0)
                details["multimodal_tokens"] = None
            usage["prompt_tokens_details"] = details
        thought = count_tokens(self.thinking)
        if settings.reasoning_parser and settings.dialect == "vllm":
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        if settings.reasoning_parser and settings.dialect == "sglang":
            usage["reasoning_tokens"] = thought
        return usage


def without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    """`value` without what is null, as the usage in a stream is."""
    known = {name: item for name, item in value.items() if item is not None}
    return {
        name: without_nulls(cast(dict[str, Any], item)) if isinstance(item, dict) else item
        for name, item in known.items()
    }


def event(data: dict[str, Any]) -> bytes:
    """A server-sent event with a JSON object."""
    return b"data: " + json.dumps(data, separators=(",", ":")).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
