"""What the server refuses before the script is asked."""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONDecodeError
from typing import Any, cast

from agentworld_sim.llm.scripted._dialects import Refusal, over_the_limit
from agentworld_sim.llm.scripted._requests import ModelRequest
from agentworld_sim.llm.scripted._settings import Settings

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
    return (
        _invalid_messages(request)
        or _unknown_model(request, settings)
        or _unknown_fields(request.body, settings)
        or _structured_output(request.body, settings)
        or _several_choices(request.body)
        or _empty_conversation(request)
        or _bad_numbers(request.body, settings)
        or over_the_limit(
            settings.dialect,
            prompt_tokens=request.prompt_tokens,
            max_tokens=request.max_tokens,
            limit=settings.max_model_len,
        )
    )


def invalid_body(reason: str) -> Refusal:
    """The refusal of a body that is no JSON object."""
    message = f"1 validation error:\n  {{'type': 'json_invalid', 'loc': 'body', 'msg': {reason!r}}}"
    return Refusal(400, message, type="Bad Request", param="body")


def no_json(error: JSONDecodeError) -> Refusal:
    """The refusal of a body that cannot be read."""
    where = f"body.{error.pos}"
    message = (
        f"1 validation error:\n  {{'type': 'json_invalid', 'loc': '{where}', 'msg': 'JSON decode"
        f" error', 'input': '<dict of 0 items>', 'ctx': {{'error': {error.msg!r}}}}}"
    )
    return Refusal(400, message, type="Bad Request", param=where)


def _invalid_messages(request: ModelRequest) -> Refusal | None:
    sent: object = request.body.get("messages")
    if isinstance(sent, list) and len(request.messages) == len(cast(list[object], sent)):
        return None
    kind, text = "missing", "Field required"
    if sent is not None:
        kind, text = "list_type", "Input should be a list of messages"
    message = (
        f"1 validation error:\n  {{'type': '{kind}', 'loc': 'body.messages', 'msg': '{text}',"
        f" 'input': '<dict of {len(request.body)} items>'}}"
    )
    return Refusal(400, message, type="Bad Request", param="body.messages")


def _unknown_model(request: ModelRequest, settings: Settings) -> Refusal | None:
    model: object = request.body.get("model")
    # vLLM takes a missing name for its own; SGLang does not look at the name.
    if not model or model in settings.models or settings.dialect == "sglang":
        return None
    text = f"The model `{model}` does not exist."
    if settings.dialect == "vllm":
        text += f" Valid aliases: {', '.join(settings.models)}."
    return Refusal(404, text, param="model")


def _unknown_fields(body: Mapping[str, Any], settings: Settings) -> Refusal | None:
    unknown = sorted(set(body) - OPENAI_FIELDS)
    if not unknown or not settings.strict_fields:
        return None
    noun = "argument" if len(unknown) == 1 else "arguments"
    message = f"Unrecognized request {noun} supplied: {', '.join(unknown)}"
    return Refusal(400, message, type="invalid_request_error", openai=True)


def _structured_output(body: Mapping[str, Any], settings: Settings) -> Refusal | None:
    if settings.structured_output:
        return None
    if body.get("structured_outputs") is not None:
        message = "Unrecognized request argument supplied: structured_outputs"
        return Refusal(400, message, type="invalid_request_error", openai=True)
    wanted: object = body.get("response_format")
    if not isinstance(wanted, dict):
        return None
    if cast(dict[str, object], wanted).get("type") != "json_schema":
        return None
    message = (
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this "
        "model."
    )
    return Refusal(400, message, type="invalid_request_error", param="response_format", openai=True)


def _several_choices(body: Mapping[str, Any]) -> Refusal | None:
    if body.get("n") in (None, 1):
        return None
    return Refusal(400, "This scripted server answers with one choice: leave `n` out.", param="n")


def _empty_conversation(request: ModelRequest) -> Refusal | None:
    if request.messages:
        return None
    text = "Cannot apply chat template to an empty conversation. Provide at least one message."
    return Refusal(400, text)


def _bad_numbers(body: Mapping[str, Any], settings: Settings) -> Refusal | None:
    """What vLLM checks of the sampling; the others are not imitated in this."""
    if settings.dialect != "vllm":
        return None
    temperature, budget = body.get("temperature"), body.get("thinking_token_budget")
    if isinstance(temperature, int | float) and temperature < 0:
        value = float(temperature)
        text = f"temperature must be non-negative, got {value}."
        return _bad_value(text, "temperature", value)
    if isinstance(budget, int) and budget < -1:
        text = "`thinking_token_budget` must be a non-negative integer or -1 for unlimited."
        return _bad_value(text, "thinking_token_budget", budget)
    return None


def _bad_value(text: str, name: str, value: float) -> Refusal:
    return Refusal(400, f"{text} (parameter={name}, value={value})", param=name)
