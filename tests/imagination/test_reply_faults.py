"""Which replies cannot be used, and what the model is told about them."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import ToolCall
from agentworld_sim.errors import UnusableReply
from agentworld_sim.imagination.parsing import parse_reply
from agentworld_sim.imagination.reply_validation import (
    LOOP_CHARS,
    THINKING_LOOP_CHARS,
    loop_watch,
    repeats,
    reply_fault,
)
from agentworld_sim.llm.chat import ChatReply
from agentworld_sim.llm.scripted import ScriptedReply
from tests.imagination.conftest import Open

O, C = "<predicted_observation>", "</predicted_observation>"
USED, BRIEFLY = "thinking used up", "Think briefly, then answer."
ASK = "Answer with the observation alone, inside <predicted_observation> and </predicted_observation>."


def fault(content: str, finish_reason: str = "stop", *, known: str = "", **more: Any) -> str | None:
    reply = ChatReply(content=content, finish_reason=finish_reason, **more)
    parsed = parse_reply(content, enforced=reply.enforced, known=known)
    return reply_fault(reply, parsed, enforced=reply.enforced, known=known)


GOOD = [
    "total 0",
    "",
    "$ yes | head -1000\n" + "y\n" * 1000 + "$ ",
    "| a | b |\n" * 200,
    "00000000: 0000 0000 0000 0000  ........\n" * 500,
    "Here is the list of files:\na\nb",
    "Sure thing, your table is booked.",
    "Okay, your order has been placed.",
    "Okay, let me know when you are there!",
    "The user John was created.",
    "The user is not in the sudoers file.",
    "The predicted class is 7",
    "Here are the predictions for tomorrow: rain",
    "Let me know if you have any questions.",
    "Note: this package is deprecated.\n\nNote: use the other one.",
    "Dear Ann,\n\nthe numbers are in.\n\nLet me know if you need more.",
    "We need to talk.",
    "Let's get started with the tutorial.",
    "Let's analyze the data of 2024.",
    '{"a": 1}',
    "# Okay\n\nThis page explains how to think.",
    "Based on the history of Rome, historians disagree.",
    "Thinking, Fast and Slow",
    "i will not",
]


@pytest.mark.parametrize("text", GOOD)
def test_what_real_environments_say_is_accepted(text: str) -> None:
    assert fault(f"<think>Okay, the user ran ls.</think>\n{O}\n{text}\n{C}") is None
    if text:
        assert fault(text) is None


def test_an_answer_without_its_tag_is_no_fault() -> None:
    assert fault("total 0\n-rw-r--r-- 1 root root 0 a") is None


def test_an_empty_answer_in_its_tag_is_an_answer() -> None:
    assert fault(f"{O}\n{C}") is None


@pytest.mark.parametrize(
    ("content", "more", "expected"),
    [
        ("", {}, f"the reply was empty. {ASK}"),
        (" \n", {}, f"the reply was empty. {ASK}"),
        ("", {"thinking": "hm"}, f"there was no answer after the thinking. {ASK}"),
        (
            "<think>hm</think>",
            {},
            f"there was no answer: the reply held nothing but thinking. {ASK}",
        ),
        (
            "",
            {"finish_reason": "length", "parameters": {"max_tokens": 32768}},
            f"there was no answer: {USED} all 32,768 tokens of the reply. {BRIEFLY} {ASK}",
        ),
        (
            "<think>hm",
            {"finish_reason": "length"},
            f"there was no answer: {USED} all tokens of the reply. {BRIEFLY} {ASK}",
        ),
    ],
)
def test_an_empty_reply_says_why_it_is_empty(
    content: str, more: dict[str, Any], expected: str
) -> None:
    assert fault(content, **more) == expected


@pytest.mark.parametrize("content", [f"{O}\ntotal 3\n-rw", "total 3\n-rw"])
def test_an_answer_cut_at_the_limit_is_refused(content: str) -> None:
    assert fault(content, "length") == (
        "the answer was cut off where the reply reached its limit. Think less, and where the real"
        " output is very long, shorten it as the real tool or screen would."
    )


def test_an_answer_that_was_whole_before_the_limit_is_accepted() -> None:
    assert fault(f"{O}a{C}\n\nI will now explain why", "length") is None


def test_an_endless_repetition_is_named() -> None:
    assert fault(f"{O}\n" + "retrying…\n" * 5000, "length") == (
        "the reply says 'retrying…\\n' over and over, until the reply reached its limit. Write what"
        " the real environment would show and stop; where the real output is very long, shorten it as"
        " the real tool or screen would."
    )


def test_an_interrupted_reply_says_what_interrupted_it() -> None:
    assert fault("a" * 9, "interrupted", interruption="it says 'a' over and over") == (
        "the reply was broken off: it says 'a' over and over. Write what the real environment would"
        " show and stop; where the real output is very long, shorten it as the real tool or screen"
        " would."
    )
    assert "it did not end" in (fault("a", "interrupted") or "")


PROSE = [
    "Here is the predicted observation:\n\ntotal 0",
    "Here's the simulated terminal output:\n```\ntotal 0\n```",
    "Sure, here is the predicted screen:\ntotal 0",
    "Okay, here is the observation:\ntotal 0",
    "The predicted observation is:\ntotal 0",
    "I will simulate the command:\ntotal 0",
]
UNTAGGED_PROSE = [
    "Sure, I can do that.\ntotal 0",
    "Certainly! Here are your files:\ntotal 0",
    "Here is the output of the command:\n\n```\ntotal 0\n```",
    "Here is what the terminal would show:\ntotal 0",
    "The expected output is:\ntotal 0",
    "Based on the action, the terminal would show:\ntotal 0",
]
NOTES = [
    "Note: this is a simulation of the real output.",
    "**Note:** The actual output may vary.",
    "(Note that the predicted output assumes an empty folder.)",
    "This output assumes that the folder is empty.",
    "This observation reflects the state after the action.",
]
REASONING = [
    "Okay, so the user wants a listing. The folder",
    "Okay, let me see what the folder has.",
    "Let me think about what this command prints.",
    "We need to predict the output of ls.",
    "First, I need to figure out the folder.",
    "The user is asking me to list",
    "The user ran `ls -la` in /root",
    "The user executed the command ls",
    "Thinking Process:\n\n1. **Analyze",
    "**Thought process**\n- ls",
    "Hmm, let's think.",
    "Let's analyze the command first.",
]


@pytest.mark.parametrize("text", PROSE)
def test_prose_before_the_answer_is_quoted(text: str) -> None:
    reason = fault(text)
    quoted = repr(text.partition("\n")[0])
    assert reason == f"there is prose before the observation: {quoted}. {ASK}"
    assert fault(f"{O}\n{text}\n{C}") is not None


@pytest.mark.parametrize("text", UNTAGGED_PROSE)
def test_milder_prose_counts_only_without_the_tag(text: str) -> None:
    assert (fault(text) or "").startswith("there is prose before the observation: ")
    assert fault(f"{O}\n{text}\n{C}") is None


@pytest.mark.parametrize("note", NOTES)
def test_a_note_after_an_answer_without_its_tag_is_refused(note: str) -> None:
    assert fault(f"total 0\na\n\n{note}\n") == (
        f"there is a note after the observation: {note!r}. {ASK}"
    )
    assert fault(f"{O}total 0{C}\n\n{note}") is None


@pytest.mark.parametrize("text", REASONING)
def test_thinking_without_tags_is_recognised_where_no_answer_is_tagged(text: str) -> None:
    assert (fault(text) or "").startswith("thinking stands inside the observation: it begins with ")
    assert fault(f"{text}\n{O}total 0{C}") is None


@pytest.mark.parametrize(
    "content",
    [
        f"{O}a <think>b</think> c{C}",
        f"{O}a <think> c{C}",
        f"{O}a </think> c{C}",
        f"{O}a <THINK> c{C}",
        f"{O}a </Think> c{C}",
        "a <think>b</think> c",
        f"{O}<thinking>b</thinking>c{C}",
        "<reasoning>b",
    ],
)
def test_thinking_tags_inside_the_observation_are_refused(content: str) -> None:
    assert (fault(content) or "").startswith("thinking stands inside the observation")


@pytest.mark.parametrize(
    "text", ["a <think>b</think>", "</think>", "</THINK>", *PROSE, "<thinking>x", *REASONING]
)
def test_what_the_world_has_shown_may_be_shown_again(text: str) -> None:
    known = f"$ cat prompt.txt\n{text}\n$ "
    assert fault(f"{O}\n{text}\n{C}", known=known) is None
    if "think>" not in text.lower():
        assert fault(text, known=known) is None


def test_long_openings_are_shortened_in_the_reason() -> None:
    reason = fault("Here is the predicted observation " + "x" * 500)
    assert reason is not None
    assert len(reason) < 300


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"a": ', "Expecting value at line 1, column 6"),
        ("Here is the JSON: {}", "Expecting value at line 1, column 1"),
        ('{"a": NaN}', "NaN is not JSON"),
    ],
)
def test_forced_output_must_be_json(content: str, problem: str) -> None:
    assert fault(content, enforced=True) == (
        f"the answer is not valid JSON ({problem}). Answer with JSON alone."
    )


def test_json_too_deep_to_read_is_a_fault_and_not_a_crash() -> None:
    assert "not valid JSON" in (fault("[" * 200_000, enforced=True) or "")


@pytest.mark.parametrize(
    "value", ["Sure, here is", "<think>a</think>", "Okay, so the user", [1], {}]
)
def test_forced_json_is_accepted_whatever_its_strings_say(value: Any) -> None:
    assert fault(json.dumps({"text": value}), enforced=True) is None
    assert fault(json.dumps({"text": value}), "length", enforced=True) is None


def test_forced_json_cut_at_the_limit_is_refused() -> None:
    assert "cut off" in (fault('{"a": "b', "length", enforced=True) or "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y\n" * 2000, "'y\\n'"),
        ("head\n" + "abc" * 2000 + "a", "over and over"),
        ("Wait, let me reconsider. " * 100, "over and over"),
        ("".join(f"line {n}\n" for n in range(2000)), "over and over, with other numbers"),
    ],
)
def test_a_text_that_ends_in_a_loop_says_what_it_repeats(text: str, said: str) -> None:
    assert said in (repeats(text) or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "y\n" * 900,
        "abc" * 5000 + "something else at the end",
        "".join(random.Random(1).choices("ab \n", k=50_000)),
        ("".join(random.Random(2).choices("abcdef", k=1000))) * 5,
    ],
)
def test_a_text_that_does_not_end_in_a_loop_is_left_alone(text: str) -> None:
    assert repeats(text) is None


@given(st.text(min_size=1, max_size=200), st.text(max_size=500))
def test_any_short_text_said_without_end_is_a_loop(unit: str, before: str) -> None:
    assert repeats(before + unit * (2_000 // len(unit) + 1)) is not None


def streamed(text: str, *, thinking: bool = False, step: int = 700) -> int | None:
    """After how many characters the watch breaks off."""
    watch = loop_watch()
    for end in range(step, len(text) + step, step):
        if watch("" if thinking else text[:end], text[:end] if thinking else ""):
            return min(end, len(text))
    return None


def test_a_streaming_answer_may_repeat_itself_for_long_but_not_for_ever() -> None:
    assert streamed("y\n" * (LOOP_CHARS // 2 - 1)) is None
    ended = streamed("y\n" * LOOP_CHARS)
    assert ended is not None
    assert LOOP_CHARS <= ended <= 1.5 * LOOP_CHARS


def test_streaming_thinking_is_broken_off_earlier() -> None:
    ended = streamed("So, no. " * THINKING_LOOP_CHARS, thinking=True)
    assert ended is not None
    assert THINKING_LOOP_CHARS <= ended <= 1.5 * THINKING_LOOP_CHARS


def test_a_long_table_of_numbers_is_not_broken_off() -> None:
    assert streamed("".join(f"{n},{n * n}\n" for n in range(10_000))) is None


def test_the_watch_looks_at_each_part_of_a_reply_a_fixed_number_of_times() -> None:
    looked = 0

    class Counted(str):
        __slots__ = ()

        def __getitem__(self, key: Any) -> str:
            nonlocal looked
            part = super().__getitem__(key)
            looked += len(part)
            return part

    text = "".join(random.Random(3).choices("ab \n", k=400_000))
    watch = loop_watch()
    for end in range(400, 400_001, 400):
        assert watch(Counted(text[:end]), "") is None
    assert looked <= 5 * len(text)


@pytest.mark.parametrize("content", ["total 0", f"{O}total 0{C}", "<think>x</think>total 0"])
def test_what_was_shown_is_collected_only_when_it_matters(content: str) -> None:
    def known() -> str:
        raise AssertionError("collected in vain")

    reply = ChatReply(content=content, finish_reason="stop")
    parsed = parse_reply(content, known=known)
    assert reply_fault(reply, parsed, known=known) is None


async def test_a_mistake_is_not_excused_by_the_reason_that_quotes_it(imagining: Open) -> None:
    prose = ScriptedReply(content="Here is the predicted observation:\n\nSunny.")
    opened = await imagining([prose] * 3, reasks=2)
    with pytest.raises(UnusableReply) as told:
        await opened.world.step(ToolCall("weather", {"city": "Oslo"}))
    problems = {one.problem for one in told.value.exchanges}
    assert problems == {
        f"there is prose before the observation: 'Here is the predicted observation:'. {ASK}"
    }


async def test_thinking_tags_that_an_action_names_may_stand_in_the_answer(imagining: Open) -> None:
    text = "<think>Oslo</think>: no such city"
    opened = await imagining([f"<predicted_observation>\n{text}\n</predicted_observation>"])
    turn = await opened.world.step(ToolCall("weather", {"city": "<think>Oslo</think>"}))
    assert turn.observation.text == text
