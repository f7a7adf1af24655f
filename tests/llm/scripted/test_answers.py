"""What an answer looks like, compared with what vLLM 0.32 and SGLang send."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.llm.scripted import (
    Dialect,
    ModelRequest,
    ReasoningField,
    ScriptedModelServer,
    ScriptedReply,
    count_tokens,
)
from agentworld_sim.llm.scripted._generation import without_nulls
from tests.properties import examples

Ask = Callable[..., httpx2.Response]
MODEL = "Qwen/Qwen-AgentWorld-35B-A3B"
UNASKED = dict.fromkeys(("refusal", "annotations", "audio", "function_call"))


def message_in(response: httpx2.Response) -> dict[str, Any]:
    return response.json()["choices"][0]["message"]


def test_an_answer_has_the_fields_of_vllm(ask: Ask) -> None:
    with ScriptedModelServer([ScriptedReply("The screen.", thinking="Let me see")]) as server:
        response = ask(server, "hi", model=MODEL)
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert isinstance(body.pop("created"), int)
    assert body == {
        "id": "chatcmpl-00000000000000000000000000000000",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "The screen.",
                    "reasoning": "Let me see",
                    **UNASKED,
                },
                "logprobs": None,
                "finish_reason": "stop",
                "stop_reason": None,
                "token_ids": None,
                "routed_experts": None,
            }
        ],
        "usage": {
            "prompt_tokens": 13,
            "completion_tokens": 8,
            "total_tokens": 21,
            "prompt_tokens_details": {
                "cached_tokens": 0,
                "created_cache_tokens": 0,
                "multimodal_tokens": None,
            },
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        "system_fingerprint": "vllm-0.32.0",
        "service_tier": None,
        "prompt_logprobs": None,
        "prompt_token_ids": None,
        "prompt_text": None,
        "kv_transfer_params": None,
        "ec_transfer_params": None,
        "metrics": None,
    }


def test_a_stream_has_the_events_of_vllm(ask: Ask, read_stream: Callable[[str], Any]) -> None:
    reply = ScriptedReply("The screen.", thinking="Let me see", chunk_size=6)
    with ScriptedModelServer([reply]) as server:
        response = ask(server, "hi", stream=True, stream_options={"include_usage": True})
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    stream = read_stream(response.text)
    choices = [event["choices"] for event in stream.events]
    first: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": None}
    plain = {**first, "token_ids": None}
    assert choices == [
        [{**first, "delta": {"role": "assistant", "content": ""}}],
        [{**plain, "delta": {"reasoning": "Let me"}}],
        [{**plain, "delta": {"reasoning": " see"}}],
        [{**plain, "delta": {"content": "The sc"}}],
        [{**plain, "delta": {"content": "reen."}}],
        [{**plain, "delta": {"content": ""}, "finish_reason": "stop", "stop_reason": None}],
        [],
    ]
    assert {event["object"] for event in stream.events} == {"chat.completion.chunk"}
    assert {event["model"] for event in stream.events} == {MODEL}
    assert stream.usage == {
        "prompt_tokens": 13,
        "completion_tokens": 8,
        "total_tokens": 21,
        "prompt_tokens_details": {"cached_tokens": 0, "created_cache_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    assert stream.done


def test_a_stream_without_the_option_carries_no_usage(
    ask: Ask, read_stream: Callable[[str], Any]
) -> None:
    with ScriptedModelServer(["a"]) as server:
        stream = read_stream(ask(server, stream=True).text)
    assert (stream.content, stream.usage, stream.done) == ("a", None, True)


TEXTS = st.text(max_size=60)
"""Without surrogates: they are no text of a reply."""


@settings(max_examples=examples(60), deadline=None)
@given(
    content=TEXTS,
    thinking=TEXTS,
    chunk_size=st.none() | st.integers(1, 20),
    max_tokens=st.none() | st.integers(1, 20),
    reasoning_parser=st.booleans(),
    dialect=st.sampled_from(["vllm", "vllm-0.9", "sglang"]),
)
def test_a_stream_says_what_an_answer_in_one_piece_says(
    read_stream: Callable[[str], Any],
    content: str,
    thinking: str,
    chunk_size: int | None,
    max_tokens: int | None,
    reasoning_parser: bool,
    dialect: Dialect,
) -> None:
    reply = ScriptedReply(content, thinking=thinking, chunk_size=chunk_size)
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "?"}]}
    if max_tokens is not None:
        body["max_tokens"] = max_tokens
    options = {"stream": True, "stream_options": {"include_usage": True}}
    with (
        ScriptedModelServer(
            lambda _: reply, dialect=dialect, reasoning_parser=reasoning_parser
        ) as server,
        httpx2.Client(base_url=server.root_url, timeout=60) as client,
    ):
        whole = client.post("/v1/chat/completions", json=body).json()
        streamed = client.post("/v1/chat/completions", json={**body, **options}).text
    stream = read_stream(streamed)
    message, usage = whole["choices"][0]["message"], whole["usage"]
    thinking = message.get("reasoning") or message.get("reasoning_content") or ""
    assert (stream.thinking, stream.content) == (thinking, message["content"] or "")
    assert stream.finish_reason == whole["choices"][0]["finish_reason"]
    assert stream.usage == without_nulls(usage)
    assert stream.done
    if max_tokens is not None:
        assert usage["completion_tokens"] <= max_tokens


@pytest.mark.parametrize(
    ("dialect", "chosen", "name"),
    [
        ("vllm", None, "reasoning"),
        ("vllm-0.9", None, "reasoning_content"),
        ("sglang", None, "reasoning_content"),
        ("vllm", "reasoning_content", "reasoning_content"),
    ],
)
def test_thinking_goes_to_the_field_of_the_server(
    ask: Ask, dialect: Dialect, chosen: ReasoningField | None, name: str
) -> None:
    reply = ScriptedReply("a", thinking="b")
    with ScriptedModelServer([reply], dialect=dialect, reasoning_field=chosen) as server:
        message = message_in(ask(server))
    unasked = UNASKED if dialect == "vllm" else {}
    assert message == {"role": "assistant", "content": "a", name: "b", **unasked}


def test_without_a_reasoning_parser_thinking_stands_in_the_content(ask: Ask) -> None:
    reply = ScriptedReply("a", thinking="b")
    with ScriptedModelServer([reply], reasoning_parser=False) as server:
        response = ask(server)
    content = "b\n</think>\n\na"
    assert message_in(response) == {"role": "assistant", "content": content, **UNASKED}
    assert "completion_tokens_details" not in response.json()["usage"]


def test_a_limit_inside_the_thinking_leaves_no_content(ask: Ask) -> None:
    reply = ScriptedReply("the answer", thinking="0123456789")
    with ScriptedModelServer([reply]) as server:
        response = ask(server, max_tokens=2)
    cut = {"role": "assistant", "content": None, "reasoning": "01234567"}
    assert message_in(response) == {**cut, **UNASKED}
    assert response.json()["choices"][0]["finish_reason"] == "length"
    assert response.json()["usage"]["completion_tokens"] == 2
    assert response.json()["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}


def test_a_limit_inside_the_content_cuts_it(ask: Ask) -> None:
    with ScriptedModelServer(["0123456789"] * 2) as server:
        short, enough = ask(server, max_completion_tokens=2), ask(server, max_tokens=3)
    assert message_in(short)["content"] == "01234567"
    assert short.json()["choices"][0]["finish_reason"] == "length"
    assert message_in(enough)["content"] == "0123456789"
    assert enough.json()["choices"][0]["finish_reason"] == "stop"


def test_a_limit_can_be_ignored(ask: Ask) -> None:
    with ScriptedModelServer(["0123456789"], honour_max_tokens=False) as server:
        assert message_in(ask(server, max_tokens=1))["content"] == "0123456789"


def test_a_scripted_cut_is_sent_as_it_stands(ask: Ask) -> None:
    reply = ScriptedReply("", thinking="so", finish_reason="length")
    with ScriptedModelServer([reply]) as server:
        response = ask(server)
    assert message_in(response)["content"] is None
    assert response.json()["choices"][0]["finish_reason"] == "length"


def test_sglang_counts_thinking_at_the_top_of_usage(ask: Ask) -> None:
    reply = ScriptedReply("a", thinking="12345")
    with ScriptedModelServer([reply], dialect="sglang", report_cached_tokens=False) as server:
        response = ask(server, "hi", model="whatever")
    assert response.json()["model"] == "whatever"
    assert response.json()["usage"] == {
        "prompt_tokens": 13,
        "completion_tokens": 5,
        "total_tokens": 18,
        "prompt_tokens_details": None,
        "reasoning_tokens": 2,
    }


def test_an_observation_is_wrapped_in_its_tag(ask: Ask) -> None:
    with ScriptedModelServer([ScriptedReply.observation("$ ls\na b")]) as server:
        content = message_in(ask(server))["content"]
    assert content == "<predicted_observation>\n$ ls\na b\n</predicted_observation>"


def test_five_megabytes_arrive_in_one_line(ask: Ask, read_stream: Callable[[str], Any]) -> None:
    reply = ScriptedReply.long_line()
    with ScriptedModelServer([reply, reply], max_model_len=2_000_000) as server:
        whole = message_in(ask(server))["content"]
        stream = read_stream(ask(server, stream=True).text)
    assert whole == stream.content == "x" * 5_000_000
    assert len(stream.events) == 3


def test_the_models_are_listed_with_their_context_length(client: httpx2.Client) -> None:
    with ScriptedModelServer(model=["a", "b"], max_model_len=4096) as server:
        body = client.get(f"{server.url}/models").json()
    assert [(card["id"], card["max_model_len"]) for card in body["data"]] == [
        ("a", 4096),
        ("b", 4096),
    ]
    assert body["object"] == "list"


def test_a_server_says_whether_it_is_healthy(client: httpx2.Client) -> None:
    with ScriptedModelServer() as server:
        well = client.get(f"{server.root_url}/health")
        server.healthy = False
        ill = client.get(f"{server.root_url}/health")
        version = client.get(f"{server.root_url}/version").json()
    assert (well.status_code, well.content, ill.status_code) == (200, b"", 503)
    assert list(version) == ["version"]


def test_a_request_is_kept_as_it_was_sent(ask: Ask) -> None:
    messages = [
        {"role": "system", "content": "You are a terminal."},
        {"role": "user", "content": [{"type": "text", "text": "### Turn 1"}]},
    ]
    sent = {
        "model": MODEL,
        "seed": 7,
        "top_k": 20,
        "max_tokens": 32_768,
        "response_format": {"type": "json_schema", "json_schema": {"name": "x"}},
        "chat_template_kwargs": {"enable_thinking": False},
    }
    with ScriptedModelServer(["ok"]) as server:
        ask(server, messages, **sent)
        (request,) = server.requests
    assert request.body == {"messages": messages, **sent}
    assert request.messages == messages
    assert (request.system, request.last_user) == ("You are a terminal.", "### Turn 1")
    assert (request.stream, request.include_usage, request.max_tokens) == (False, False, 32_768)
    assert request.enable_thinking is False
    assert request.headers["content-type"] == "application/json"
    assert request.prompt_tokens == count_tokens(request.prompt)


def test_a_request_with_nothing_in_it_reads_as_empty() -> None:
    request = ModelRequest(0, {"messages": "hi", "stream_options": 1, "chat_template_kwargs": 2})
    assert request.messages == []
    assert (request.system, request.last_user) == ("", "")
    assert (request.include_usage, request.enable_thinking, request.max_tokens) == (
        False,
        None,
        None,
    )
