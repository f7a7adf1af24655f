"""The pocket models' tokenizer and chat template."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from experiments.pocket.tokenizer import FRAMES, train_tokenizer

CALL = (
    '### Turn 1\n**Action:**\n```json\n{\n  "name": "bash",\n  "arguments": {\n'
    '    "command": "cat moth"\n  }\n}\n```'
)
CONVERSATION = [
    {"role": "system", "content": "A bash session."},
    {"role": "user", "content": CALL},
    {"role": "assistant", "content": "**Environment Observation:**\nred\n"},
    {"role": "user", "content": CALL.replace("Turn 1", "Turn 2")},
]

TOKENIZER: Any = train_tokenizer([CALL, "red\nblue red\n", "moth: red"] * 9, vocabulary=360)


@given(st.text(max_size=60))
def test_every_text_is_read_back_as_it_was(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text, add_special_tokens=False)) == text


@pytest.mark.parametrize("frame", FRAMES)
def test_a_fixed_string_of_the_wire_form_is_one_token(frame: str) -> None:
    assert len(TOKENIZER.encode(frame, add_special_tokens=False)) == 1


def test_a_turn_is_few_tokens() -> None:
    text = TOKENIZER.apply_chat_template(CONVERSATION[1:3], tokenize=False)
    assert TOKENIZER.convert_ids_to_tokens(TOKENIZER.encode(text)) == [
        *("<|im_start|>", "user\n### Turn ", "1", FRAMES[6], "cat", "Ġmoth", FRAMES[7]),
        *("<|im_end|>", "<|im_start|>", FRAMES[5], "red", "Ċ", "<|im_end|>"),
    ]


def test_the_vocabulary_is_at_most_what_was_asked_for_and_the_same_again() -> None:
    again: Any = train_tokenizer([CALL, "red\nblue red\n", "moth: red"] * 9, vocabulary=360)
    assert len(TOKENIZER) <= 360
    assert TOKENIZER.get_vocab() == again.get_vocab()


@pytest.mark.parametrize(
    ("thinking", "opened"), [(True, "<think>\n"), (False, "<think>\n\n</think>\n\n")]
)
def test_the_generation_prompt_opens_the_thinking_or_closes_it(thinking: bool, opened: str) -> None:
    text = TOKENIZER.apply_chat_template(
        CONVERSATION, tokenize=False, add_generation_prompt=True, enable_thinking=thinking
    )
    assert text.endswith(f"<|im_end|><|im_start|>assistant\n{opened}")
    # A prompt only grows at its end.
    earlier = TOKENIZER.apply_chat_template(CONVERSATION[:2], tokenize=False)
    assert text.startswith(earlier)


def test_tools_are_told_by_name_and_their_answers_stand_together() -> None:
    text = TOKENIZER.apply_chat_template(
        [
            {"role": "user", "content": "do"},
            {"role": "assistant", "content": "<tool_call>…</tool_call>"},
            {"role": "tool", "content": "one\n"},
            {"role": "tool", "content": "two"},
        ],
        tools=[{"type": "function", "function": {"name": "bash", "description": "d"}}],
        tokenize=False,
    )
    assert text == (
        "<|im_start|>system\n<tools>bash</tools><|im_end|><|im_start|>user\ndo<|im_end|>"
        "<|im_start|>assistant\n<tool_call>…</tool_call><|im_end|><|im_start|>user\n"
        "<tool_response>\none\n\n</tool_response>\n<tool_response>\ntwo\n</tool_response><|im_end|>"
    )
