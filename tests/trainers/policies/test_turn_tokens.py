"""Tokens of a conversation, turn by turn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import Opening, TurnTokens, opening_tag, tool_objects
from agentworld_sim.scoring import Message
from tests.properties import examples
from tests.scoring.samples import sample
from tests.trainers.policies.tokenizers import TINY_CHAT, bundled, tokenizer

QUESTION: Message = {"role": "user", "content": "What is in a.txt?"}
CALL = '<tool_call>\n{"name": "run", "arguments": {}}\n</tool_call>'
ANSWER: Message = {"role": "tool", "content": "1\n2\n"}
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "type": "function",
        "function": {"name": "run", "description": "", "parameters": {"type": "object"}},
    },
)

KEEPING = ("qwen2_5", "qwen3_instruct_2507", "llama3", "phi3")
"""Templates that rewrite nothing of what these conversations hold."""


def played(
    tokens: TurnTokens, opening: Opening, turns: list[tuple[str, list[Message]]]
) -> list[int]:
    """What a rollout makes of a conversation."""
    ids = list(tokens.opening_ids(opening))
    for text, replies in turns:
        ids += [*tokens.tokenizer.encode(text, add_special_tokens=False), tokens.stop_ids[0]]
        if replies:
            ids += tokens.reply_ids(replies, ended_by=ids[-1])
    return ids


def whole(made: Any, messages: list[Message], **variables: Any) -> list[int]:
    """What the template makes of it at once, up to where the policy writes."""
    text = made.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, **variables
    )
    return made.encode(text, add_special_tokens=False)


@pytest.mark.parametrize("name", KEEPING)
def test_turns_one_by_one_give_the_tokens_of_the_whole_conversation(name: str) -> None:
    made = tokenizer(bundled(name), special=("<|eot_id|>", "<|end|>", "<|user|>", "<|assistant|>"))
    tokens = TurnTokens(made)
    answer: Message = {"role": "user", "content": "and then?"}
    said = ["first", "second, longer"]
    ids = played(tokens, Opening(messages=(QUESTION,)), [(said[0], [answer]), (said[1], [answer])])
    messages: list[Message] = [QUESTION]
    for text in said:
        said_so: Message = {"role": "assistant", "content": text}
        messages += [said_so, answer]
    assert ids == whole(made, messages)


def test_tool_calls_and_answers_are_as_the_template_of_qwen3_writes_them() -> None:
    made = tokenizer()
    tokens = TurnTokens(made)
    opening = Opening(messages=(QUESTION,), tools=TOOLS)
    ids = played(tokens, opening, [(CALL, [ANSWER, ANSWER])])
    messages: list[Message] = [QUESTION, {"role": "assistant", "content": CALL}, ANSWER, ANSWER]
    assert made.decode(ids) == made.decode(whole(made, messages, tools=list(TOOLS))).replace(
        "<think>\n\n</think>\n\n", ""
    )


@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=4))
@settings(max_examples=examples(40), deadline=None)
def test_what_was_sampled_stands_in_the_conversation_as_it_was_sampled(texts: list[str]) -> None:
    tokens = TurnTokens(tokenizer())
    ids = list(tokens.opening_ids(Opening(messages=(QUESTION,))))
    sampled: list[tuple[int, list[int]]] = []
    for text in texts:
        # One token per byte: never what the tokenizer itself would make of it.
        turn = [
            tokens.tokenizer.encode(text[place], add_special_tokens=False)[0]
            for place in range(len(text))
        ]
        turn.append(tokens.stop_ids[0])
        sampled.append((len(ids), turn))
        ids += turn
        ids += tokens.reply_ids([ANSWER], ended_by=ids[-1])
    assert all(ids[begin : begin + len(turn)] == turn for begin, turn in sampled)


def test_past_thinking_stays_where_the_template_would_drop_it() -> None:
    made = tokenizer()
    tokens = TurnTokens(made)
    thought = "<think>\nhm\n</think>\n\nyes"
    ids = played(tokens, Opening(messages=(QUESTION,)), [(thought, [QUESTION]), ("no", [QUESTION])])
    messages: list[Message] = [
        QUESTION,
        {"role": "assistant", "content": thought},
        QUESTION,
        {"role": "assistant", "content": "no"},
        QUESTION,
    ]
    assert "hm" not in made.decode(whole(made, messages))
    assert made.decode(ids) == made.decode(whole(made, messages)).replace("yes", thought)


@pytest.mark.parametrize("thinking", [True, False])
def test_a_template_that_opens_the_thinking_opens_it_in_every_turn(thinking: bool) -> None:
    made = tokenizer(TINY_CHAT.read_text())
    tokens = TurnTokens(made, {"enable_thinking": thinking})
    begins = "<think>\n" if thinking else "<think>\n\n</think>\n\n"
    ids = played(tokens, Opening(messages=(QUESTION,)), [("hm\n</think>\n\nyes", [QUESTION])])
    text = made.decode(ids)
    assert text.count(f"<|im_start|>assistant\n{begins}") == 2
    assert text.endswith(f"<|im_start|>assistant\n{begins}")
    assert tokens.begin == f"<|im_start|>assistant\n{begins}"


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("qwen3_5_nothink", "<function=agentworld_dummy_tool>"),
        ("qwen3_5_think", "<function=agentworld_dummy_tool>"),
        ("llama3_1", '"parameters": {"text"'),
        ("glm4moe", "<arg_key>text</arg_key>"),
    ],
)
def test_a_template_with_another_form_of_calls_is_refused_at_the_first_prompt_with_tools(
    name: str, form: str
) -> None:
    tokens = TurnTokens(tokenizer(bundled(name)))
    with pytest.raises(UsageError) as caught:
        tokens.opening_ids(Opening(messages=(QUESTION,), tools=TOOLS))
    said = str(caught.value)
    assert form in said and "are read in the Hermes form only, '<tool_call>" in said
    # Predictions have no tools.
    assert tokens.opening_ids(Opening(messages=(QUESTION,)))


@pytest.mark.parametrize("name", ["qwen2_5", "qwen3", "qwen3_instruct_2507", "qwen3_vl"])
def test_a_template_that_writes_the_form_that_is_read_is_taken(name: str) -> None:
    tokens = TurnTokens(tokenizer(bundled(name)))
    assert tokens.opening_ids(Opening(messages=(QUESTION,), tools=TOOLS))


def test_a_template_without_tools_is_told_of_them_in_the_system_message() -> None:
    made = tokenizer(TINY_CHAT.read_text())
    tokens = TurnTokens(made)
    system: Message = {"role": "system", "content": "Be brief."}
    with_system = made.decode(
        list(tokens.opening_ids(Opening(messages=(system, QUESTION), tools=TOOLS)))
    )
    without = made.decode(list(tokens.opening_ids(Opening(messages=(QUESTION,), tools=TOOLS))))
    assert with_system.startswith("<|im_start|>system\nBe brief.\n\nYou can call these tools:")
    assert without.startswith("<|im_start|>system\nYou can call these tools:")
    for text in (with_system, without):
        assert '"name": "run"' in text
        assert "<tool_call>" in text
        assert text.count("<|im_start|>user") == 1


def test_a_template_without_the_role_tool_is_given_messages_of_the_user() -> None:
    made = tokenizer(TINY_CHAT.read_text())
    tokens = TurnTokens(made)
    text = made.decode(list(tokens.reply_ids([ANSWER], ended_by=tokens.stop_ids[0])))
    assert text == (
        "\n<|im_start|>user\n<tool_response>\n1\n2\n\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n<think>\n"
    )


def test_a_turn_without_an_end_is_given_the_templates() -> None:
    made = tokenizer()
    tokens = TurnTokens(made)
    cut = tokens.reply_ids([QUESTION], ended_by=None)
    ended = tokens.reply_ids([QUESTION], ended_by=made.eos_token_id)
    assert cut == (made.eos_token_id, *ended)


def test_another_end_than_the_templates_stands_in_its_place() -> None:
    made = tokenizer()
    tokens = TurnTokens(made)
    other = made.convert_tokens_to_ids("<|endoftext|>")
    assert tokens.reply_ids([QUESTION], ended_by=other) == tokens.reply_ids(
        [QUESTION], ended_by=tokens.stop_ids[0]
    )


def test_the_text_of_a_turn_is_without_the_token_that_ended_it() -> None:
    made = tokenizer()
    tokens = TurnTokens(made)
    ids = made.encode("<think>\nhm\n</think>\n\nyes", add_special_tokens=False)
    assert tokens.text([*ids, made.eos_token_id]) == "<think>\nhm\n</think>\n\nyes"
    assert tokens.text(ids) == "<think>\nhm\n</think>\n\nyes"


def test_a_policy_stops_at_the_templates_end_and_at_the_tokenizers() -> None:
    made = tokenizer()
    made.eos_token = "<|endoftext|>"
    assert TurnTokens(made).stop_ids == (
        made.convert_tokens_to_ids("<|im_end|>"),
        made.convert_tokens_to_ids("<|endoftext|>"),
    )


def test_a_tokenizer_without_a_template_says_so() -> None:
    made = tokenizer()
    made.chat_template = None
    with pytest.raises(UsageError, match="has no chat template"):
        TurnTokens(made)


def test_a_template_that_refuses_the_conversation_is_quoted() -> None:
    made = tokenizer("{{ raise_exception('no system, please') }}")
    with pytest.raises(UsageError, match="of the roles user: no system, please"):
        TurnTokens(made).opening_ids(Opening(messages=(QUESTION,)))


def test_a_template_that_leaves_out_what_was_said_is_refused() -> None:
    made = tokenizer("{% for message in messages %}x{% endfor %}")
    with pytest.raises(UsageError, match="leaves out what the assistant said"):
        TurnTokens(made).reply_ids([QUESTION], ended_by=None)


def test_a_tokenizer_without_any_end_says_so() -> None:
    made = tokenizer("{% for message in messages %}{{ message.content }}\n{% endfor %}")
    made.eos_token = None
    with pytest.raises(UsageError, match="would never stop"):
        _ = TurnTokens(made).stop_ids


def test_tools_of_a_world_are_written_as_templates_take_them() -> None:
    from agentworld_sim import ToolSpec

    tool = ToolSpec(name="run", input_schema={"type": "object"})
    assert tool_objects([tool]) == TOOLS


def test_openings_that_differ_in_anything_have_tokens_of_their_own() -> None:
    made = tokenizer()
    tokens = TurnTokens(made)
    described = {"type": "function", "function": {**TOOLS[0]["function"], "description": "Runs."}}
    openings = [
        Opening(messages=(QUESTION,)),
        Opening(messages=(QUESTION,), tools=TOOLS),
        Opening(messages=(QUESTION,), tools=(described,)),
        Opening(messages=({"role": "system", "content": QUESTION["content"]},)),
        Opening(messages=(QUESTION, QUESTION)),
    ]
    first = [tokens.opening_ids(opening) for opening in openings]
    assert len(set(first)) == len(openings)
    assert [tokens.opening_ids(opening) for opening in openings] == first
    assert [TurnTokens(made).opening_ids(opening) for opening in openings] == first


@pytest.mark.parametrize(
    ("template", "variables", "opened"),
    [
        ("qwen3", {"enable_thinking": True}, ""),
        ("qwen3", {"enable_thinking": False}, ""),
        ("qwen3_5_think", {"enable_thinking": True}, "<think>\n"),
        ("qwen3_5_think", {"enable_thinking": False}, ""),
    ],
)
def test_what_a_chat_template_opens_is_known(
    template: str, variables: dict[str, bool], opened: str
) -> None:
    tokens = TurnTokens(tokenizer(bundled(template)), variables)
    ids = tokens.opening_ids(Opening(messages=sample().messages))
    assert opening_tag(tokens.tokenizer.decode(ids)) == opened
