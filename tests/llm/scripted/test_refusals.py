"""What the server refuses by itself, in the words of the real ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from agentworld_sim.llm.scripted import Dialect, ModelRequest, ScriptedModelServer

Ask = Callable[..., httpx2.Response]
SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}


def error(response: httpx2.Response) -> dict[str, Any]:
    return response.json()["error"]


def ok(_: ModelRequest) -> str:
    return "ok"


def test_a_wrong_model_is_not_found(ask: Ask) -> None:
    with ScriptedModelServer(ok, model="tiny") as server:
        response = ask(server, model="huge")
        assert ask(server, model="tiny").status_code == 200
    assert response.status_code == 404
    assert error(response) == {
        "message": "The model `huge` does not exist. Valid aliases: tiny.",
        "type": "NotFoundError",
        "param": "model",
        "code": 404,
    }


def test_sglang_answers_to_any_model_name(ask: Ask) -> None:
    with ScriptedModelServer(ok, model="tiny", dialect="sglang") as server:
        assert ask(server, model="huge").status_code == 200


@pytest.mark.parametrize("key", [None, "sk-wrong", "sk-ÿ"])
def test_a_wrong_key_is_refused_and_shown_nowhere(
    ask: Ask, client: httpx2.Client, key: str | None
) -> None:
    with ScriptedModelServer(ok, api_key="sk-right") as server:
        url = f"{server.url}/chat/completions"
        headers = [] if key is None else [(b"Authorization", f"Bearer {key}".encode())]
        refused = client.post(url, json={"messages": []}, headers=headers)
        models = client.get(f"{server.url}/models")
        health = client.get(f"{server.root_url}/health")
        (request,) = server.requests
    assert (refused.status_code, refused.json()) == (401, {"error": "Unauthorized"})
    assert (models.status_code, health.status_code) == (401, 200)
    assert request.headers["authorization"] == request.authorization
    assert request.authorization == ("missing" if key is None else "wrong")
    assert key is None or key not in repr(request)


def test_the_right_key_is_let_in_and_shown_nowhere(ask: Ask) -> None:
    with ScriptedModelServer(ok, api_key="sk-right") as server:
        assert ask(server, key="sk-right").status_code == 200
        (request,) = server.requests
    assert request.authorization == "right"
    assert "sk-right" not in repr(request)
    assert "sk-right" not in repr(vars(server))


def test_a_key_that_nobody_asked_for_is_not_kept(ask: Ask) -> None:
    with ScriptedModelServer(ok) as server:
        assert ask(server, key="sk-mine").status_code == 200
        (request,) = server.requests
    assert request.authorization == "unchecked"
    assert "sk-mine" not in repr(request)


@pytest.mark.parametrize(
    ("body", "content_type", "told"),
    [
        (b"{", "application/json", "JSON decode error"),
        (b"[]", "application/json", "valid dictionary"),
        (b"\xff", "application/json", "JSON decode error"),
        (b"{}", "text/plain", "Only 'application/json' is allowed"),
        (b"{}", "application/json", "Field required"),
        (b'{"messages": "hi"}', "application/json", "list of messages"),
        (b'{"messages": ["hi"]}', "application/json", "list of messages"),
        (b'{"messages": [], "n": 2}', "application/json", "one choice"),
        (b'{"messages": []}', "application/json", "empty conversation"),
    ],
)
def test_an_invalid_request_is_told_why(
    client: httpx2.Client, body: bytes, content_type: str, told: str
) -> None:
    with ScriptedModelServer(ok) as server:
        response = client.post(
            f"{server.url}/chat/completions", content=body, headers={"Content-Type": content_type}
        )
        assert len(server.requests) == 1
    assert response.status_code == 400
    assert told in error(response)["message"]


def test_unknown_paths_and_methods_are_refused(client: httpx2.Client) -> None:
    with ScriptedModelServer(ok) as server:
        missing = client.post(f"{server.root_url}/chat/completions", json={})
        wrong = client.get(f"{server.url}/chat/completions")
        log = server.access_log
    assert (missing.status_code, missing.json()) == (404, {"detail": "Not Found"})
    assert (wrong.status_code, wrong.json()) == (405, {"detail": "Method Not Allowed"})
    assert log == ["POST /chat/completions", "GET /v1/chat/completions"]


VLLM_PROMPT = (
    "This model's maximum context length is 64 tokens. However, your prompt contains at least 65 "
    "input tokens, which exceeds this limit even without any output tokens. Please reduce the "
    "length of the input prompt. (parameter=input_tokens, value=65)"
)
VLLM_LIMIT = (
    "max_tokens=65 cannot be greater than max_model_len=64. Please request fewer output tokens. "
    "(parameter=max_tokens, value=65)"
)
OLD_VLLM_SUM = (
    "This model's maximum context length is 64 tokens. However, you requested 123 tokens (113 in "
    "the messages, 10 in the completion). Please reduce the length of the messages or completion."
)
OLD_VLLM_PROMPT = (
    "This model's maximum context length is 64 tokens. However, you requested 113 tokens in the "
    "messages, Please reduce the length of the messages."
)
SGLANG_PROMPT = "The input (113 tokens) is longer than the model's context length (64 tokens)."


@pytest.mark.parametrize(
    ("dialect", "max_tokens", "told"),
    [
        ("vllm", None, VLLM_PROMPT),
        ("vllm", 65, VLLM_LIMIT),
        ("vllm-0.9", 10, OLD_VLLM_SUM),
        ("vllm-0.9", None, OLD_VLLM_PROMPT),
        ("sglang", None, SGLANG_PROMPT),
    ],
)
def test_a_prompt_over_the_limit_is_refused_in_the_words_of_the_server(
    ask: Ask, dialect: Dialect, max_tokens: int | None, told: str
) -> None:
    fields = {} if max_tokens is None else {"max_tokens": max_tokens}
    with ScriptedModelServer(ok, dialect=dialect, max_model_len=64) as server:
        response = ask(server, "x" * 400, **fields)
        assert server.requests[0].prompt_tokens == 113
    assert response.status_code == 400
    body = response.json() if dialect != "vllm" else response.json()["error"]
    assert (body["message"], body["type"], body["code"]) == (told, "BadRequestError", 400)


@pytest.mark.parametrize(("dialect", "status"), [("vllm", 200), ("vllm-0.9", 400), ("sglang", 400)])
def test_only_vllm_lowers_a_limit_that_does_not_fit_behind_the_prompt(
    ask: Ask, dialect: Dialect, status: int
) -> None:
    with ScriptedModelServer(lambda _: "x" * 400, dialect=dialect, max_model_len=64) as server:
        response = ask(server, "hi", max_tokens=60)
    assert response.status_code == status
    if status == 200:
        assert response.json()["usage"]["total_tokens"] == 64
        assert response.json()["choices"][0]["finish_reason"] == "length"
    else:
        assert "73 tokens" in response.json()["message"]


def test_strict_servers_name_the_fields_they_do_not_know(ask: Ask) -> None:
    with ScriptedModelServer(ok, strict_fields=True) as server:
        one = ask(server, top_k=20, temperature=0.6)
        two = ask(server, top_k=20, chat_template_kwargs={"enable_thinking": True})
        none = ask(server, temperature=0.6, seed=1, response_format=SCHEMA)
    assert error(one) == {
        "message": "Unrecognized request argument supplied: top_k",
        "type": "invalid_request_error",
        "param": None,
        "code": None,
    }
    assert error(two)["message"] == (
        "Unrecognized request arguments supplied: chat_template_kwargs, top_k"
    )
    assert (one.status_code, two.status_code, none.status_code) == (400, 400, 200)


def test_structured_output_is_accepted_or_refused(ask: Ask) -> None:
    grammar = {"structured_outputs": {"json": {"type": "object"}}}
    with ScriptedModelServer(ok) as server:
        assert ask(server, response_format=SCHEMA).status_code == 200
        assert ask(server, **grammar).status_code == 200
        assert server.requests[0].body["response_format"] == SCHEMA
    with ScriptedModelServer(ok, structured_output=False) as server:
        schema, plain = ask(server, response_format=SCHEMA), ask(server, **grammar)
        assert ask(server, response_format={"type": "json_object"}).status_code == 200
        assert ask(server, response_format="text").status_code == 200
    assert (schema.status_code, error(schema)["param"]) == (400, "response_format")
    assert "'json_schema' is not supported" in error(schema)["message"]
    assert "structured_outputs" in error(plain)["message"]
