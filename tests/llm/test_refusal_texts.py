"""Errors as servers word them, read into values."""

from __future__ import annotations

import pytest

from agentworld_sim.llm.failures import Overflow, Refusal, looks_like, quote, refusal_in

START = "This model's maximum context length is 2048 tokens. However, "


@pytest.mark.parametrize(
    ("text", "limit", "asked"),
    [
        (f"{START}your prompt contains at least 2049 input tokens, which exceeds", 2048, 2049),
        (
            (
                f"{START}you requested 500 output tokens and your prompt contains at least 1600 input"
                " tokens, for a total of at least 2100 tokens. Please reduce"
            ),
            2048,
            2100,
        ),
        (f"{START}you requested 2100 tokens (1600 in the messages, 500 in the", 2048, 2100),
        (f"{START}your messages resulted in 2100 tokens.", 2048, 2100),
        (f"{START}you requested 3000 tokens in the messages, Please reduce", 2048, 3000),
        (
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context"
                " length is 2048 tokens and your request has 1600 input tokens (1000 > 2048 - 1600)."
            ),
            2048,
            2600,
        ),
        ("max_tokens=4000 cannot be greater than max_model_len=2048. Please", 2048, 4000),
        (
            "The decoder prompt (length 3000) is longer than the maximum model length of 2048.",
            2048,
            3000,
        ),
        ("Input prompt (3000 tokens) is too long and exceeds limit of 2048", 2048, 3000),
        (
            "The input (3000 tokens) is longer than the model's context length (2048 tokens).",
            2048,
            3000,
        ),
        (
            (
                "Requested token count exceeds the model's maximum context length of 2048 tokens. You"
                " requested a total of 3000 tokens: 2000 tokens from the input messages and 1000"
            ),
            2048,
            3000,
        ),
        (
            "request (3000 tokens) exceeds the available context size (2048 tokens), try increasing",
            2048,
            3000,
        ),
        ("the request exceeds the context window", None, None),
    ],
)
def test_an_overflow_is_read_from_every_wording(
    text: str, limit: int | None, asked: int | None
) -> None:
    assert Refusal(400, text).overflow == Overflow(limit, asked)


def test_an_overflow_is_known_by_its_code() -> None:
    assert Refusal(400, "too long", "context_length_exceeded").overflow == Overflow(None, None)


@pytest.mark.parametrize("status", [200, 401, 429, 500])
def test_other_statuses_are_no_overflow(status: int) -> None:
    assert Refusal(status, f"{START}you requested 3000 tokens").overflow is None


@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        (
            {"error": {"message": "no", "type": "t", "param": "top_k", "code": 400}},
            Refusal(400, "no", fields=("top_k",)),
        ),
        (
            {"error": {"message": "no", "code": "model_not_found"}},
            Refusal(400, "no", "model_not_found"),
        ),
        ({"error": "Unauthorized"}, Refusal(400, "Unauthorized")),
        ({"object": "error", "message": "no", "code": 400}, Refusal(400, "no")),
        ({"detail": "Not Found"}, Refusal(400, "Not Found")),
        (
            {"detail": [{"loc": ["body", "top_k"], "msg": "extra", "input": 20}]},
            Refusal(400, "top_k: extra", fields=("top_k",)),
        ),
        ({"message": "no"}, Refusal(400, "no")),
        ({"error": {"type": "x"}}, Refusal(400, '{"type": "x"}')),
        ({"choices": [], "error": None}, None),
        ({"something": "else"}, None),
        ("text", None),
        (None, None),
    ],
)
def test_an_error_is_found_wherever_servers_put_it(body: object, refusal: Refusal | None) -> None:
    assert refusal_in(body, 400) == refusal


def test_a_chunk_of_a_reply_is_no_error() -> None:
    chunk: dict[str, object] = {"choices": [], "error": None, "detail": "x"}
    assert refusal_in(chunk, 200) is None


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"code": 503}, 503),
        ({"code": "429"}, 429),
        ({"code": "rate_limit"}, 500),
        ({"code": 7}, 500),
        ({"type": "BadRequestError"}, 400),
        ({"type": "invalid_request_error"}, 400),
        ({"code": "context_length_exceeded"}, 400),
        ({}, 500),
    ],
)
def test_an_error_inside_a_stream_has_the_status_it_tells(
    error: dict[str, object], status: int
) -> None:
    found = refusal_in({"error": {"message": "m", **error}}, 200)
    assert found is not None and found.status == status


@pytest.mark.parametrize(
    ("refusal", "about"),
    [
        (Refusal(404, "The model `x` does not exist."), True),
        (Refusal(404, "nothing", "model_not_found"), True),
        (Refusal(400, "Unknown model: x"), True),
        (Refusal(404, "Not Found"), False),
        (Refusal(500, "The model `x` does not exist."), False),
    ],
)
def test_a_wrong_model_is_told_from_a_wrong_path(refusal: Refusal, about: bool) -> None:
    assert refusal.about_model is about


def test_a_server_is_quoted_on_one_short_line_without_the_key() -> None:
    assert quote("a\nb\x1b[31m  c", "") == "a b [31m c"
    assert quote("wrong key sk-1", "sk-1") == "wrong key …"
    assert len(quote("x" * 10_000, "")) == 401


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "nothing"),
        (b" \n", "nothing"),
        (b"<html><TITLE>\n Log\n in </TITLE>", "an HTML page titled 'Log in'"),
        (b"<!DOCTYPE HTML><p>", "an HTML page"),
        (b'{"a": ', "broken JSON, beginning '{\"a\":'"),
        (b"\xff\x00plain", "something that is not JSON, beginning '� plain'"),
    ],
)
def test_a_body_that_is_no_json_is_described(body: bytes, words: str) -> None:
    assert looks_like(body) == words
