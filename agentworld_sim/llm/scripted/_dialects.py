"""How the servers differ: error bodies, their texts, field names, the rule of the context limit.

The texts are interface facts that clients look at. Sources: vLLM 0.32.0 (`renderers/params.py`,
`entrypoints/serve/exception_handling`, `entrypoints/serve/middleware/authenticate.py`), reports of
vLLM 0.9 (vllm-project/vllm issue 20409), SGLang (`srt/managers/tokenizer_manager.py`,
`srt/entrypoints/openai`) and OpenAI's own messages as clients quote them.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal

Dialect = Literal["vllm", "vllm-0.9", "sglang"]
"""Whose manners the server has: vLLM of today, vLLM before 0.10 and SGLang."""

VERSION = "0.32.0"
"""The vLLM whose manners the default dialect has."""

ReasoningField = Literal["reasoning", "reasoning_content"]

ERROR_TYPES = {
    400: "BadRequestError",
    404: "NotFoundError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "ServiceUnavailableError",
}

ERROR_MESSAGES = {
    400: "The request is invalid.",
    404: "Not Found",
    429: "Rate limit reached for requests. Please try again later.",
    500: "Internal server error",
    503: "Request failed; please retry",
}


@dataclass(frozen=True)
class Refusal:
    """An error that the server answers with."""

    status: int
    message: str = ""
    type: str = ""
    param: str | None = None
    code: int | str | None = None
    """`None` means the status."""
    openai: bool = False
    """Written as OpenAI's own service writes it, where `code` is a word or null."""
    by_framework: bool = False
    """Refused before the API's own code: vLLM of today leaves the body as its web framework writes it."""

    def body(self, dialect: Dialect) -> dict[str, Any]:
        """The JSON body of this error."""
        if self.status == HTTPStatus.UNAUTHORIZED and not self.message:
            return {"error": "Unauthorized"}
        if self.by_framework and dialect == "vllm":
            return {"detail": self.message}
        error: dict[str, Any] = {
            "message": self.message or self._usual_message(),
            "type": self.type or ERROR_TYPES.get(self.status) or HTTPStatus(self.status).phrase,
            "param": self.param,
            "code": self.code if self.openai or self.code is not None else self.status,
        }
        # Both wrote the fields at the top; vLLM moved them under `error` in 0.10.
        flat = dialect != "vllm" and not self.openai
        return {"object": "error", **error} if flat else {"error": error}

    def _usual_message(self) -> str:
        return ERROR_MESSAGES.get(self.status) or HTTPStatus(self.status).phrase


def reasoning_field_of(dialect: Dialect) -> ReasoningField:
    """The name of the field that carries the thinking."""
    return "reasoning" if dialect == "vllm" else "reasoning_content"


def over_the_limit(
    dialect: Dialect, *, prompt_tokens: int, max_tokens: int | None, limit: int
) -> Refusal | None:
    """The refusal of a request that does not fit into the context, or `None` when it fits."""
    if dialect == "sglang":
        return _over_the_limit_of_sglang(prompt_tokens, max_tokens, limit)
    if dialect == "vllm-0.9":
        return _over_the_limit_of_old_vllm(prompt_tokens, max_tokens, limit)
    if max_tokens is not None and max_tokens > limit:
        message = (
            f"max_tokens={max_tokens} cannot be greater than max_model_len={limit}. "
            f"Please request fewer output tokens. (parameter=max_tokens, value={max_tokens})"
        )
        return Refusal(400, message, param="max_tokens")
    if prompt_tokens > limit:
        # The tokenizer stops one token behind the limit, so that is all the server knows.
        message = (
            f"This model's maximum context length is {limit} tokens. However, your prompt contains "
            f"at least {limit + 1} input tokens, which exceeds this limit even without any output "
            f"tokens. Please reduce the length of the input prompt. "
            f"(parameter=input_tokens, value={limit + 1})"
        )
        return Refusal(400, message, param="input_tokens")
    # A prompt that fits with too large a `max_tokens` is not refused: the limit is lowered.
    return None


def _over_the_limit_of_old_vllm(
    prompt_tokens: int, max_tokens: int | None, limit: int
) -> Refusal | None:
    start = f"This model's maximum context length is {limit} tokens. However, you requested"
    if max_tokens is None and prompt_tokens >= limit:
        return Refusal(
            400,
            f"{start} {prompt_tokens} tokens in the messages, "
            "Please reduce the length of the messages.",
        )
    if max_tokens is not None and prompt_tokens + max_tokens > limit:
        return Refusal(
            400,
            f"{start} {prompt_tokens + max_tokens} tokens ({prompt_tokens} in the messages, "
            f"{max_tokens} in the completion). "
            "Please reduce the length of the messages or completion.",
        )
    return None


def _over_the_limit_of_sglang(
    prompt_tokens: int, max_tokens: int | None, limit: int
) -> Refusal | None:
    if prompt_tokens >= limit:
        message = (
            f"The input ({prompt_tokens} tokens) is longer than the model's context length "
            f"({limit} tokens)."
        )
        return Refusal(400, message)
    if max_tokens is not None and prompt_tokens + max_tokens >= limit:
        message = (
            f"Requested token count exceeds the model's maximum context length of {limit} tokens. "
            f"You requested a total of {prompt_tokens + max_tokens} tokens: {prompt_tokens} tokens "
            f"from the input messages and {max_tokens} tokens for the completion. Please reduce "
            "the number of tokens in the input messages or the completion to fit within the limit."
        )
        return Refusal(400, message)
    return None
