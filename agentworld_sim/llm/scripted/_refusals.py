"""What servers refuse, and how they write it: error bodies, their texts, field names, the context limit.

The texts are interface facts that clients look at. Sources: vLLM 0.32.0 (`renderers/params.py`,
`entrypoints/serve/exception_handling`, `entrypoints/serve/middleware/authenticate.py`), reports of
vLLM 0.9 (vllm-project/vllm issue 20409), SGLang (`srt/managers/tokenizer_manager.py`,
`srt/entrypoints/openai`) and OpenAI's own messages as clients quote them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from json import JSONDecodeError
from typing import Any, Literal, cast

from agentworld_sim.llm.scripted._script import ModelRequest

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
        phrase = HTTPStatus(self.status).phrase
        error: dict[str, Any] = {
            "message": self.message or ERROR_MESSAGES.get(self.status) or phrase,
            "type": self.type or ERROR_TYPES.get(self.status) or phrase,
            "param": self.param,
            "code": self.code if self.openai or self.code is not None else self.status,
        }
        # Both wrote the fields at the top; vLLM moved them under `error` in 0.10.
        flat = dialect != "vllm" and not self.openai
        return {"object": "error", **error} if flat else {"error": error}


def over_the_limit(
    dialect: Dialect, *, prompt_tokens: int, max_tokens: int | None, limit: int
) -> Refusal | None:
    """The refusal of a request that does not fit into the context, or `None` when it fits."""
    total = prompt_tokens + (max_tokens or 0)
    text, param = "", None
    if dialect == "sglang":
        if prompt_tokens >= limit:
            text = (
                f"The input ({prompt_tokens} tokens) is longer than the model's context length "
                f"({limit} tokens)."
            )
        elif max_tokens is not None and total >= limit:
            text = (
                f"Requested token count exceeds the model's maximum context length of {limit} tokens. "
                f"You requested a total of {total} tokens: {prompt_tokens} tokens from the input "
                f"messages and {max_tokens} tokens for the completion. Please reduce the number of "
                "tokens in the input messages or the completion to fit within the limit."
            )
    elif dialect == "vllm-0.9":
        start = f"This model's maximum context length is {limit} tokens. However, you requested"
        if max_tokens is None and prompt_tokens >= limit:
            text = (
                f"{start} {prompt_tokens} tokens in the messages, "
                "Please reduce the length of the messages."
            )
        elif max_tokens is not None and total > limit:
            text = (
                f"{start} {total} tokens ({prompt_tokens} in the messages, {max_tokens} in the "
                "completion). Please reduce the length of the messages or completion."
            )
    elif max_tokens is not None and max_tokens > limit:
        param = "max_tokens"
        text = (
            f"max_tokens={max_tokens} cannot be greater than max_model_len={limit}. "
            f"Please request fewer output tokens. (parameter=max_tokens, value={max_tokens})"
        )
    elif prompt_tokens > limit:
        # The tokenizer stops one token behind the limit, so that is all the server knows. A prompt
        # that fits with too large a `max_tokens` is not refused: the limit is lowered.
        param = "input_tokens"
        text = (
            f"This model's maximum context length is {limit} tokens. However, your prompt contains "
            f"at least {limit + 1} input tokens, which exceeds this limit even without any output "
            f"tokens. Please reduce the length of the input prompt. "
            f"(parameter=input_tokens, value={limit + 1})"
        )
    return Refusal(400, text, param=param) if text else None


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of `ScriptedModelServer`, which documents them."""

    models: tuple[str, ...]
    api_key: str | None = field(repr=False)
    dialect: Dialect
    reasoning_field: ReasoningField | None
    reasoning_parser: bool
    max_model_len: int
    honour_max_tokens: bool
    structured_output: bool
    strict_fields: bool
    prefix_caching: bool
    report_cached_tokens: bool
    block_size: int

    @property
    def thinking_field(self) -> ReasoningField:
        """The name of the field that carries the thinking."""
        return self.reasoning_field or (
            "reasoning" if self.dialect == "vllm" else "reasoning_content"
        )


OPENAI_FIELDS = frozenset(
    (
        "audio frequency_penalty function_call functions logit_bias logprobs"
        " max_completion_tokens max_tokens messages metadata modalities model n"
        " parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort"
        " response_format safety_identifier seed service_tier stop store stream stream_options"
        " temperature tool_choice tools top_logprobs top_p user verbosity web_search_options"
    ).split()
)
"""The request fields of OpenAI's own service (its API reference, create chat completion)."""


def refusal_of(request: ModelRequest, settings: Settings) -> Refusal | None:
    """Why the server would not answer this request, or `None`."""
    return next(_refusals(request, settings), None)


def _refusals(request: ModelRequest, settings: Settings) -> Iterator[Refusal]:
    body, vllm = request.body, settings.dialect == "vllm"
    sent: object = body.get("messages")
    if not isinstance(sent, list) or len(request.messages) != len(cast(list[object], sent)):
        kind, text = "missing", "Field required"
        if sent is not None:
            kind, text = "list_type", "Input should be a list of messages"
        message = (
            f"1 validation error:\n  {{'type': '{kind}', 'loc': 'body.messages', 'msg': '{text}',"
            f" 'input': '<dict of {len(body)} items>'}}"
        )
        yield Refusal(400, message, type="Bad Request", param="body.messages")
    model: object = body.get("model")
    # vLLM takes a missing name for its own; SGLang does not look at the name.
    if model and model not in settings.models and settings.dialect != "sglang":
        text = f"The model `{model}` does not exist."
        if vllm:
            text += f" Valid aliases: {', '.join(settings.models)}."
        yield Refusal(404, text, param="model")
    unknown = sorted(set(body) - OPENAI_FIELDS) if settings.strict_fields else []
    if not settings.structured_output and body.get("structured_outputs") is not None:
        unknown = unknown or ["structured_outputs"]
    if unknown:
        noun = "argument" if len(unknown) == 1 else "arguments"
        message = f"Unrecognized request {noun} supplied: {', '.join(unknown)}"
        yield Refusal(400, message, type="invalid_request_error", openai=True)
    wanted: object = body.get("response_format")
    kind = cast(dict[str, object], wanted).get("type") if isinstance(wanted, dict) else None
    if not settings.structured_output and kind == "json_schema":
        message = (
            "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
            "model."
        )
        named = "response_format"
        yield Refusal(400, message, type="invalid_request_error", param=named, openai=True)
    if body.get("n") not in (None, 1):
        text = "This scripted server answers with one choice: leave `n` out."
        yield Refusal(400, text, param="n")
    if not request.messages:
        text = "Cannot apply chat template to an empty conversation. Provide at least one message."
        yield Refusal(400, text)
    # What vLLM checks of the sampling; the others are not imitated in this.
    temperature, budget = body.get("temperature"), body.get("thinking_token_budget")
    if vllm and isinstance(temperature, int | float) and temperature < 0:
        value = float(temperature)
        yield _bad_value(f"temperature must be non-negative, got {value}.", "temperature", value)
    if vllm and isinstance(budget, int) and budget < -1:
        text = "`thinking_token_budget` must be a non-negative integer or -1 for unlimited."
        yield _bad_value(text, "thinking_token_budget", budget)
    limit, tokens = settings.max_model_len, request.prompt_tokens
    overflow = over_the_limit(
        settings.dialect, prompt_tokens=tokens, max_tokens=request.max_tokens, limit=limit
    )
    if overflow is not None:
        yield overflow


def invalid_body(reason: str, error: JSONDecodeError | None = None) -> Refusal:
    """The refusal of a body that is no JSON object, or cannot be read."""
    where, more = "body", ""
    if error is not None:
        where = f"body.{error.pos}"
        more = f", 'input': '<dict of 0 items>', 'ctx': {{'error': {error.msg!r}}}"
    message = f"1 validation error:\n  {{'type': 'json_invalid', 'loc': '{where}', 'msg': {reason!r}{more}}}"
    return Refusal(400, message, type="Bad Request", param=where)


def _bad_value(text: str, name: str, value: float) -> Refusal:
    return Refusal(400, f"{text} (parameter={name}, value={value})", param=name)
