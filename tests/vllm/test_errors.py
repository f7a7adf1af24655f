"""What the real server says when a request is wrong, and how it takes a client that leaves."""

from __future__ import annotations

import httpx2
import pytest

from tests.vllm.asking import chat, counter, request
from tests.vllm.server import VllmServer


def message(response: httpx2.Response, status: int) -> str:
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["code"] == status
    return error["message"]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer another-key"}])
def test_a_wrong_key_is_refused(vllm_server: VllmServer, headers: dict[str, str]) -> None:
    response = httpx2.get(f"{vllm_server.url}/models", headers=headers)
    assert (response.status_code, response.json()) == (401, {"error": "Unauthorized"})


def test_health_version_and_metrics_need_no_key(vllm_server: VllmServer) -> None:
    answers = [httpx2.get(vllm_server.root + path) for path in ("/health", "/version", "/metrics")]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[1].json() == {"version": "0.32.0"}


def test_the_served_models_are_listed_with_their_context(http: httpx2.Client) -> None:
    (model,) = http.get("/v1/models").json()["data"]
    assert (model["id"], model["max_model_len"]) == ("tiny", 8192)


def test_another_models_name_is_not_found(http: httpx2.Client) -> None:
    text = message(chat(http, model="other"), 404)
    assert text == "The model `other` does not exist. Valid aliases: tiny."


def test_a_prompt_beyond_the_context_is_refused(http: httpx2.Client) -> None:
    long = [{"role": "user", "content": "hello world " * 6000}]
    text = message(chat(http, messages=long), 400)
    assert text.startswith("This model's maximum context length is 8192 tokens. However, ")


def test_more_output_than_the_context_is_refused(http: httpx2.Client) -> None:
    text = message(chat(http, max_tokens=8193), 400)
    assert text.startswith("max_tokens=8193 cannot be greater than max_model_len=8192.")


def test_an_output_limit_that_does_not_fit_beside_the_prompt_is_lowered(
    http: httpx2.Client,
) -> None:
    response = chat(http, max_tokens=8192, ignore_eos=False)
    assert response.status_code == 200


def test_a_schema_that_is_none_is_refused(http: httpx2.Client) -> None:
    text = message(chat(http, structured_outputs={"json": {"type": "nonsense"}}), 400)
    assert text.startswith("Failed to transform json schema into a grammar: ")


def test_a_body_that_is_no_json_is_refused(http: httpx2.Client) -> None:
    headers = {"Content-Type": "application/json"}
    response = http.post("/v1/chat/completions", content=b"{no", headers=headers)
    assert "JSON decode error" in message(response, 400)


def test_a_stream_refuses_with_a_plain_error(http: httpx2.Client) -> None:
    response = http.post("/v1/chat/completions", json=request(model="other", stream=True))
    assert response.headers["content-type"] == "application/json"
    assert message(response, 404)


def test_a_client_that_leaves_frees_the_server(http: httpx2.Client) -> None:
    before = counter(http, "vllm:generation_tokens_total")
    body = request(ignore_eos=True, max_tokens=8000)
    with pytest.raises(httpx2.ReadTimeout):
        http.post("/v1/chat/completions", json=body, timeout=2)
    # Each look at the counter takes the server's time, not a sleep.
    assert any(counter(http, "vllm:num_requests_running") == 0 for _ in range(5000))
    # Left alone it takes at least ten seconds.
    assert counter(http, "vllm:generation_tokens_total") - before < 8000
