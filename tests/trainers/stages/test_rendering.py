"""From rows to tokens: golden texts, and what holds for all rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.imagination.parsing import parse_reply
from agentworld_sim.rollouts import Opening, TurnTokens
from agentworld_trainers.stages._rendering import (
    RenderedRow,
    Unrenderable,
    answer_text,
    render_demonstration,
    render_document,
    render_prediction,
    verify_template,
)
from tests.properties import examples
from tests.trainers.stages import tiny

ANSWER = "<predicted_observation>\n7\n</predicted_observation><|im_end|>"
THOUGHT = "<think>\necho writes it\n</think>\n\n"

PROMPT = (
    "<|im_start|>system\nYou are a shell.<|im_end|>\n"
    "<|im_start|>user\n### Turn 1\n**Action:**\necho 7<|im_end|>\n"
    "<|im_start|>assistant\n"
)
GOLDEN = {
    # template, thinking: what the prompt ends with, what the model writes
    ("qwen3", True): ("", THOUGHT + ANSWER),
    ("qwen3", False): ("<think>\n\n</think>\n\n", ANSWER),
    ("qwen3_5_think", True): ("<think>\n", THOUGHT.removeprefix("<think>\n") + ANSWER),
    ("qwen3_5_think", False): ("<think>\n\n</think>\n\n", ANSWER),
    ("qwen3_5_nothink", True): ("<think>\n", THOUGHT.removeprefix("<think>\n") + ANSWER),
    ("qwen3_5_nothink", False): ("<think>\n\n</think>\n\n", ANSWER),
    ("tiny_chat", True): ("<think>\n", THOUGHT.removeprefix("<think>\n") + ANSWER),
    ("tiny_chat", False): ("<think>\n\n</think>\n\n", ANSWER),
}


def prompt_of(row: RenderedRow) -> tuple[int, ...]:
    return row.ids[: row.mask.index(1)]


def target_of(row: RenderedRow) -> tuple[int, ...]:
    return row.ids[row.mask.index(1) :]


@pytest.mark.parametrize(("template", "thinking"), GOLDEN)
def test_a_prediction_is_what_a_server_would_have_sampled(template: str, thinking: bool) -> None:
    tokenizer = tiny.tokenizer(template)
    sample = tiny.sample(7, thinking="echo writes it", observation="7")
    rendered = render_prediction(tokenizer, sample, thinking=thinking)
    begin, target = GOLDEN[template, thinking]
    assert tokenizer.decode(prompt_of(rendered)) == PROMPT + begin
    assert tokenizer.decode(target_of(rendered)) == target
    assert target_of(rendered)[-1] == tokenizer.eos_token_id
    served: Any = tokenizer.apply_chat_template(
        list(sample.messages), add_generation_prompt=True, enable_thinking=thinking
    )
    assert list(prompt_of(rendered)) == served["input_ids"]


def test_a_sample_without_thinking_is_rendered_with_thinking_switched_off() -> None:
    tokenizer = tiny.tokenizer("qwen3")
    rendered = render_prediction(tokenizer, tiny.sample(7, observation="7"), thinking=True)
    assert tokenizer.decode(prompt_of(rendered)).endswith("<think>\n\n</think>\n\n")
    assert tokenizer.decode(target_of(rendered)) == ANSWER


def test_a_template_that_always_opens_the_thinking_has_it_closed_in_the_answer() -> None:
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
    )
    rendered = render_prediction(tokenizer, tiny.sample(7, observation="7"), thinking=False)
    whole = tokenizer.decode(rendered.ids)
    assert whole == PROMPT + "<think>\n\n</think>\n\n" + ANSWER


OBSERVATIONS = st.text(
    st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from("`<>/\r\n\t "))
) | st.sampled_from(
    ["```\nx\n```", "<think>", "</predicted_observation>", "**Environment Observation:**\nx"]
)


@settings(max_examples=examples(150), deadline=None)
@given(
    observation=OBSERVATIONS,
    thinking=st.text(max_size=40) | st.just("a</think>b"),
    template=st.sampled_from(sorted(tiny.TEMPLATES)),
)
def test_what_is_rendered_is_read_back_as_the_observation(
    observation: str, thinking: str, template: str
) -> None:
    tokenizer = tiny.tokenizer(template)
    sample = tiny.sample(1, thinking=thinking, observation=observation)
    try:
        rendered = render_prediction(tokenizer, sample, thinking=True)
    except Unrenderable:
        return
    turns = TurnTokens(tokenizer)
    written = turns.text(target_of(rendered))
    assert parse_reply(written).text == observation
    # A server without a reasoning parser, too: the whole turn, what the prompt opened included.
    whole = tokenizer.decode(rendered.ids)
    assert parse_reply(whole.rpartition("<|im_start|>assistant\n")[2].removesuffix("<|im_end|>"))


def test_an_observation_that_would_be_read_otherwise_is_left_out() -> None:
    tokenizer = tiny.tokenizer()
    for observation in (
        "```\nx\n```",
        "a</predicted_observation>b",
        "**Environment Observation:** x",
    ):
        with pytest.raises(Unrenderable, match="would not be read back"):
            render_prediction(tokenizer, tiny.sample(1, observation=observation), thinking=False)
    with pytest.raises(Unrenderable, match="a tag of the thinking"):
        render_prediction(tokenizer, tiny.sample(1, thinking="a</think>b"), thinking=True)


def test_the_answer_is_the_wire_form() -> None:
    assert answer_text("a\n", "because") == (
        "<think>\nbecause\n</think>\n\n<predicted_observation>\na\n\n</predicted_observation>"
    )
    assert answer_text("") == "<predicted_observation>\n\n</predicted_observation>"


@pytest.mark.parametrize("template", ["qwen3", "qwen3_5_think", "tiny_chat"])
def test_a_document_is_the_templates_own_text_and_counts_observations_only(template: str) -> None:
    tokenizer = tiny.tokenizer(template)
    row = tiny.document(12, keep=1.0)
    rendered = render_document(tokenizer, row, seed=0)
    text: Any = tokenizer.apply_chat_template(
        list(row.messages), tokenize=False, enable_thinking=False
    )
    assert tokenizer.decode(rendered.ids) == text
    counted = [i for i, kept in zip(rendered.ids, rendered.mask, strict=True) if kept]
    assert tokenizer.decode(counted) == (
        "**Environment Observation:**\n12 1<|im_end|>**Environment Observation:**\n12 2<|im_end|>"
    )


def test_a_short_observation_is_not_found_in_the_names_of_roles() -> None:
    tokenizer = tiny.tokenizer("qwen3")
    row = tiny.document(1, keep=1.0)
    messages: Any = [{**message} for message in row.messages]
    messages[2]["content"] = messages[4]["content"] = "a"
    rendered = render_document(tokenizer, dataclasses.replace(row, messages=tuple(messages)), 0)
    counted = [i for i, kept in zip(rendered.ids, rendered.mask, strict=True) if kept]
    assert tokenizer.decode(counted) == "a<|im_end|>a<|im_end|>"


def test_blanks_that_a_template_trims_are_no_part_of_a_document() -> None:
    tokenizer = tiny.tokenizer("qwen3_5_think")
    row = tiny.document(1, keep=1.0)
    messages: Any = [{**message} for message in row.messages]
    messages[2]["content"] = "\n  x \n"
    rendered = render_document(tokenizer, dataclasses.replace(row, messages=tuple(messages)), 0)
    counted = [i for i, kept in zip(rendered.ids, rendered.mask, strict=True) if kept]
    assert tokenizer.decode(counted).startswith("x<|im_end|>")


@settings(max_examples=examples(60), deadline=None)
@given(keep=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_the_asked_fraction_of_an_observations_tokens_counts(keep: float, seed: int) -> None:
    tokenizer = tiny.tokenizer("tiny_chat")
    whole = render_document(tokenizer, tiny.document(3, keep=1.0), seed)
    first = render_document(tokenizer, tiny.document(3, keep=0.0), seed)
    count = sum(whole.mask) - sum(first.mask)
    rendered = render_document(tokenizer, tiny.document(3, keep=keep), seed)
    assert abs(sum(rendered.mask) - sum(first.mask) - keep * count) < 1
    assert rendered == render_document(tokenizer, tiny.document(3, keep=keep), seed)
    assert all(kept <= may for kept, may in zip(rendered.mask, whole.mask, strict=True))


def test_which_tokens_count_depends_on_seed_document_and_turn() -> None:
    tokenizer = tiny.tokenizer("tiny_chat")
    masks = {render_document(tokenizer, tiny.document(3), seed).mask for seed in range(20)}
    assert len(masks) > 10


def test_fractions_that_do_not_fit_the_messages_leave_a_document_out() -> None:
    row = dataclasses.replace(tiny.document(1), keep=(1.0,))
    with pytest.raises(Unrenderable, match="1 fractions for 2 assistant messages"):
        render_document(tiny.tokenizer(), row, 0)


@pytest.mark.parametrize("template", sorted(tiny.TEMPLATES))
def test_a_demonstration_has_the_tokens_of_a_rollout(template: str) -> None:
    tokenizer = tiny.tokenizer(template)
    row = tiny.demonstration(3)
    rendered = render_demonstration(tokenizer, row)
    turns = TurnTokens(tokenizer, {"enable_thinking": False})
    said = [
        (
            *tokenizer.encode(row.messages[at]["content"], add_special_tokens=False),
            turns.stop_ids[0],
        )
        for at in (1, 3)
    ]
    reply = turns.reply_ids(row.messages[2:3], ended_by=said[0][-1])
    opening = turns.opening_ids(Opening(messages=row.messages[:1]))
    assert rendered.ids == (*opening, *said[0], *reply, *said[1])
    counted = [i for i, kept in zip(rendered.ids, rendered.mask, strict=True) if kept]
    assert counted == [*said[0], *said[1]]


def test_a_demonstration_without_a_prompt_is_left_out() -> None:
    row = tiny.demonstration(1)
    with pytest.raises(Unrenderable, match="no assistant message answers a prompt"):
        render_demonstration(tiny.tokenizer(), dataclasses.replace(row, messages=row.messages[1:2]))


LEAVES_OUT_SYSTEM = (
    "{% for m in messages if m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def test_a_template_that_cannot_hold_the_conversation_is_refused() -> None:
    tokenizer = tiny.tokenizer()
    for template in tiny.TEMPLATES:
        verify_template(tiny.tokenizer(template))
    tokenizer.chat_template = LEAVES_OUT_SYSTEM
    with pytest.raises(UsageError, match="leaves out messages of the role 'system'"):
        verify_template(tokenizer)
    with pytest.raises(UsageError, match="leaves out messages of the role 'system'"):
        render_document(tokenizer, tiny.document(1), 0)
    tokenizer.chat_template = LEAVES_OUT_SYSTEM.partition("{% if add")[0].replace(
        " if m.role != 'system'", ""
    )
    with pytest.raises(UsageError, match="nothing for `add_generation_prompt`"):
        verify_template(tokenizer)
    tokenizer.chat_template = None
    with pytest.raises(UsageError, match="no chat template"):
        verify_template(tokenizer)


def test_a_document_that_the_template_would_change_is_left_out() -> None:
    tokenizer = tiny.tokenizer("qwen3")
    row = tiny.document(1)
    messages: Any = [{**message} for message in row.messages]
    messages[2]["content"] = "grep: </think> found"
    with pytest.raises(Unrenderable, match="changes what its messages say"):
        render_document(tokenizer, dataclasses.replace(row, messages=tuple(messages)), 0)
