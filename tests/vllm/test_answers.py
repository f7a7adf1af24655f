"""How the real server answers. The scripted server must answer in the same shapes."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import jsonschema

from tests.vllm.asking import MESSAGES, SCHEMA, chat, choice, chunks, joined

OPEN, CLOSE = "<predicted_observation>", "</predicted_observation>"


def well_formed(content: str | None) -> bool:
    text = (content or "").strip()
    return text.startswith(OPEN) and text.endswith(CLOSE)


def test_thinking_and_answer_come_in_fields_of_their_own(http: httpx2.Client) -> None:
    message = choice(http)["message"]
    assert message["reasoning"]
    assert "reasoning_content" not in message
    assert "think>" not in message["reasoning"] + message["content"]


def test_the_white_space_after_the_thinking_stays_in_the_answer(http: httpx2.Client) -> None:
    assert choice(http)["message"]["content"].startswith("\n\n")


def test_the_tiny_model_answers_in_the_world_models_form(http: httpx2.Client) -> None:
    answers = [choice(http, seed=seed)["message"]["content"] for seed in range(20)]
    assert sum(map(well_formed, answers)) >= 17, answers


def test_thinking_can_be_switched_off(http: httpx2.Client) -> None:
    answer = choice(http, chat_template_kwargs={"enable_thinking": False})
    assert answer["message"]["reasoning"] is None
    assert well_formed(answer["message"]["content"])


def test_thinking_can_be_left_out_of_the_answer(http: httpx2.Client) -> None:
    whole, without = choice(http)["message"], choice(http, include_reasoning=False)["message"]
    assert without["reasoning"] is None
    assert without["content"] == whole["content"]


def test_a_limit_inside_the_thinking_leaves_no_content(http: httpx2.Client) -> None:
    answer = choice(http, max_tokens=3)
    assert (answer["finish_reason"], answer["message"]["content"]) == ("length", None)
    assert answer["message"]["reasoning"]


def test_a_thinking_budget_closes_the_thinking(http: httpx2.Client) -> None:
    usage = chat(http, thinking_token_budget=6).json()["usage"]
    # The newline that the template writes after <think> counts too.
    assert usage["completion_tokens_details"]["reasoning_tokens"] <= 6
    assert choice(http, thinking_token_budget=0)["message"]["reasoning"] is None


def test_a_seed_fixes_the_answer(http: httpx2.Client) -> None:
    first, again, other = (choice(http, seed=seed)["message"] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_a_grammar_applies_after_the_thinking(http: httpx2.Client) -> None:
    wanted: list[dict[str, Any]] = [
        {"structured_outputs": {"json": SCHEMA}},
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
            }
        },
    ]
    messages = [choice(http, **fields)["message"] for fields in wanted]
    assert messages[0] == messages[1]
    assert messages[0]["reasoning"]
    jsonschema.validate(json.loads(messages[0]["content"]), SCHEMA)


def test_a_grammar_applies_at_once_without_thinking(http: httpx2.Client) -> None:
    fields = {"chat_template_kwargs": {"enable_thinking": False}}
    content = choice(http, structured_outputs={"json": SCHEMA}, **fields)["message"]["content"]
    jsonschema.validate(json.loads(content), SCHEMA)


def test_unknown_fields_and_the_old_grammar_field_are_ignored(http: httpx2.Client) -> None:
    assert choice(http, guided_json=SCHEMA, no_such_field=1) == choice(http)


def test_token_ids_come_on_request(http: httpx2.Client) -> None:
    response = chat(http, return_token_ids=True).json()
    usage = response["usage"]
    assert len(response["prompt_token_ids"]) == usage["prompt_tokens"]
    assert len(response["choices"][0]["token_ids"]) == usage["completion_tokens"]


def test_a_stream_says_the_same_as_the_whole_answer(http: httpx2.Client) -> None:
    message = choice(http)["message"]
    parts = chunks(http)
    assert joined(parts, "reasoning") == message["reasoning"]
    # A second closing tag is dropped from a whole answer and left standing in a stream.
    assert joined(parts, "content").replace("</think>", "") == message["content"]
    assert [part["choices"][0]["finish_reason"] for part in parts if part["choices"]][-1] == "stop"


def test_a_stream_ends_with_the_usage_where_it_is_asked_for(http: httpx2.Client) -> None:
    *_, last = chunks(http, stream_options={"include_usage": True})
    assert last["choices"] == []
    assert set(last["usage"]) >= {"prompt_tokens", "completion_tokens", "prompt_tokens_details"}
    assert not any("usage" in part for part in chunks(http))


def test_a_stream_carries_the_token_ids(http: httpx2.Client) -> None:
    parts = chunks(http, return_token_ids=True)
    streamed = [token for part in parts for token in part["choices"][0].get("token_ids") or ()]
    whole = chat(http, return_token_ids=True).json()
    assert streamed == whole["choices"][0]["token_ids"]
    assert parts[0]["prompt_token_ids"] == whole["prompt_token_ids"]


def test_past_thinking_is_not_part_of_the_prompt(http: httpx2.Client) -> None:
    def prompt_tokens(answer: str) -> int:
        past = {"role": "assistant", "content": answer}
        response = chat(http, messages=[*MESSAGES, past, MESSAGES[1]], max_tokens=1)
        return response.json()["usage"]["prompt_tokens"]

    assert prompt_tokens("<think>\nlong thoughts\n</think>\n\nan answer") == prompt_tokens(
        "an answer"
    )
