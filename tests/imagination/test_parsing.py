"""Reading replies: what is thinking, what is the answer, and what belongs to the tags."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from agentworld_sim.imagination.parsing import ParsedReply, parse_reply
from tests.properties import examples

O, C = "<predicted_observation>", "</predicted_observation>"
MARKER = "**Environment Observation:**"
PLAIN = st.text(st.characters(exclude_characters="<`*", codec="utf-8"))


def text_of(content: str) -> str:
    return parse_reply(content).text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"<think>plan</think>\n\n{O}\na\n{C}", "a"),
        (f"<think>one</think> x <think>two</think>{O}a{C}", "a"),
        (f"<think>out<think>in</think>out</think>{O}a{C}", "a"),
        (f"no opening tag</think>{O}a{C}", "a"),
        (f"first</think> second</think>{O}a{C}", "a"),
        (f"<think>never closed, then {O}a{C}", "a"),
        (f"<think>drafts {O}draft{C} in thinking</think>{O}a{C}", "a"),
        (f"<think>drafts {O} and never closes</think>{O}a{C}", "a"),
        (f"orphan with a draft {O}draft{C}</think>{O}a{C}", "a"),
        (f"orphan that names the tag {O} only</think>{O}a{C}", "a"),
        (f"{O}draft{C}<think>better</think>{O}a{C}", "a"),
        (f"{O}a{C}<think>was {O}wrong{C}?</think>", "a"),
        (f"{O}a{C}<think>never closed", "a"),
        (f"<THINK>plan</Think>{O.upper()}a{C.title()}", "a"),
        ("<think>plan</think>a", "a"),
        ("plan</think>\n\na\n", "a"),
    ],
)
def test_thinking_is_removed_in_every_shape(content: str, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"{O}one{C}{O}two{C}", "two"),
        (f"{O}one{C} and then {O}two", "two"),
        (f"{O}one {O}two{C} three{C}", "two"),
        (f"{O}one{C} Note: this is a guess.", "one"),
        (f"Here is the observation: {O}one{C}", "one"),
        (f"{O}{C}", ""),
    ],
)
def test_the_last_opened_answer_counts(content: str, text: str) -> None:
    assert parse_reply(content).text == text
    assert parse_reply(content).tagged


def test_an_unclosed_answer_runs_to_the_end_and_says_so() -> None:
    assert parse_reply(f"{O}\na\nb") == ParsedReply("a\nb", tagged=True)
    assert parse_reply(f"{O}\na\nb\n{C}") == ParsedReply("a\nb", tagged=True, closed=True)


def test_without_a_tag_everything_is_the_answer() -> None:
    assert parse_reply("$ ls\na  b\n$ ") == ParsedReply("$ ls\na  b\n$ ", tagged=False)


def test_a_closing_tag_alone_at_the_end_is_no_part_of_the_answer() -> None:
    assert parse_reply(f"<think>x</think>\na\n{C}\n") == ParsedReply(
        "a", tagged=False, thinking="x"
    )


def test_thinking_is_kept_beside_the_answer() -> None:
    content = f"<think>one</think>{O}a{C}<think>two <think>three</think></think>"
    assert parse_reply(content).thinking == "one\ntwo three"


def test_nothing_but_thinking_is_an_empty_answer() -> None:
    assert parse_reply("<think>all of it") == ParsedReply("", tagged=False, thinking="all of it")
    assert parse_reply("") == ParsedReply("", tagged=False)
    assert parse_reply(" \n\t\n ") == ParsedReply("", tagged=False)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"{O}\n    indented\n$ \n{C}", "    indented\n$ "),
        (f"{O}\n\n  a\n\n\n{C}", "\n  a\n\n"),
        (f"{O}\r\na\r\nb\r\n{C}", "a\r\nb"),
        (f"{O}a{C}", "a"),
        (f"{O} a {C}", " a "),
        ("\n\n  \n    indented\nb\n$ \n\n", "    indented\nb\n$ "),
        ("<think>x</think>\n\n    1\tfrom x import y\n", "    1\tfrom x import y"),
        ("a\r\n\r\n", "a"),
    ],
)
def test_one_line_break_at_each_end_belongs_to_the_tags_and_all_else_to_the_screen(
    content: str, text: str
) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (f"{MARKER}\na", "a"),
        (f"\n{MARKER}\n    a", "    a"),
        (f"{MARKER} a", "a"),
        (f"{O}\n{MARKER}\na\n{C}", "a"),
        (f"{MARKER}\n{O}\na\n{C}", "a"),
        (f"{MARKER}\n{MARKER}\na", f"{MARKER}\na"),
        (f"a\n{MARKER}\nb", f"a\n{MARKER}\nb"),
        (f"{MARKER}\n```\na\n```", "a"),
    ],
)
def test_one_leading_marker_is_dropped(content: str, text: str) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("```\na\n```", "a"),
        ("```json\n{}\n```", "{}"),
        ("\n```text  \n  a\n$ \n```\n\n", "  a\n$ "),
        ("````md\n```\na\n```\n````", "```\na\n```"),
        ("```\n# Title\n```python\nx\n```\nend\n```", "# Title\n```python\nx\n```\nend"),
        ("```\n```", ""),
        ("```\r\na\r\n```\r\n", "a\r"),
    ],
)
def test_a_fence_around_the_whole_answer_is_dropped(body: str, text: str) -> None:
    assert text_of(body) == text
    assert text_of(f"{O}\n{body}\n{C}") == text


@pytest.mark.parametrize(
    "body",
    [
        "```\na\n```\nand more",
        "```\na\n```\nbetween\n```\nb\n```",
        "```python\na\n```\n\n```python\nb\n```",
        "```\nnever closed",
        "```",
        "```not a fence``` but code",
        "```a``` and\n```",
        "text\n```\na\n```",
        "`a`",
    ],
)
def test_an_observation_that_has_fences_of_its_own_is_kept(body: str) -> None:
    assert text_of(body) == body
    assert text_of(f"{O}\n{body}\n{C}") == body


@pytest.mark.parametrize("body", ["a </think> b", "a <think> b", "</think>a<think>"])
def test_thinking_tags_that_do_not_pair_up_inside_a_whole_answer_are_its_own(body: str) -> None:
    assert parse_reply(f"<think>x</think>{O}{body}{C}") == ParsedReply(
        body, tagged=True, thinking="x", closed=True
    )


def test_a_pair_inside_the_answer_is_removed_and_reported() -> None:
    parsed = parse_reply(f"{O}a<think>b</think>c{C}")
    assert parsed == ParsedReply("ac", tagged=True, thinking="b", closed=True, leaked=True)
    assert parse_reply("a<think>b</think>c").leaked


def test_a_pair_at_the_answers_beginning_is_removed_without_harm() -> None:
    parsed = parse_reply(f"{O}\n<think>b</think>\nc\n{C}")
    assert parsed == ParsedReply("c", tagged=True, thinking="b", closed=True)


def test_a_pair_that_the_world_has_shown_before_is_quoted() -> None:
    body = "template: <think>{{ x }}</think>"
    parsed = parse_reply(f"<think>y</think>{O}\n{body}\n{C}", known="grep '<think>' -r .")
    assert parsed == ParsedReply(body, tagged=True, thinking="y", closed=True)


def test_forced_json_is_read_as_it_is() -> None:
    content = f'{{"a": "<think>b</think>{O}c{C}"}}\n'
    assert parse_reply(content, enforced=True) == ParsedReply(content.strip(), tagged=False)


@given(PLAIN, PLAIN)
def test_a_whole_answer_comes_back_exactly(thinking: str, text: str) -> None:
    parsed = parse_reply(f"<think>{thinking}</think>\n\n{O}\n{text}\n{C}\n")
    assert (parsed.text, parsed.tagged, parsed.closed) == (text, True, True)


PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        O,
        C,
        MARKER,
        "```",
        "```json",
        "\n",
        "\r\n",
        " ",
        "a",
        "<",
        "predicted",
    ]
)


@settings(max_examples=examples(400))
@given(st.lists(PIECES | st.text(max_size=3)).map("".join))
def test_any_reply_is_read_and_nothing_is_invented(content: str) -> None:
    parsed = parse_reply(content)
    assert len(parsed.text) <= len(content)
    assert parsed.tagged or not parsed.closed
    if "<" not in content and "`" not in content and "*" not in content:
        assert parsed.text.strip() == content.strip()


@settings(max_examples=examples(400))
@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "b "]), max_size=12).map("".join))
def test_no_thinking_in_front_of_a_tagged_answer_ever_reaches_it(before: str) -> None:
    # An opening tag that is never closed ends where the answer begins.
    assert parse_reply(f"{before}{O}answer{C}").text == "answer"


@pytest.mark.parametrize(
    "content",
    [
        "<think>" * 20_000,
        "</think>" * 20_000,
        "<think>" * 20_000 + "x" + "</think>" * 20_000 + "a",
        ("<think>" + O) * 20_000,
        ("</think>" + O) * 20_000 + "a",
        O * 20_000 + "a",
        C * 20_000,
        (O + "</think>" + C) * 20_000,
        (O + "<think>x</think>" + C) * 20_000,
        "<think" * 60_000,
        "<" * 1_000_000,
        "a" * 1_000_000,
        "\n" * 1_000_000,
        " " * 1_000_000 + "a",
        "`" * 1_000_000,
        "```\n" * 40_000 + "```",
        "```x\n" * 40_000 + "```\n" * 40_000,
        MARKER + " " * 1_000_000,
        O + "x" * 1_000_000 + "</predicted_observation",
    ],
    ids=lambda content: f"{content[:12]!r}x{len(content)}",
)
def test_hostile_replies_are_read_at_once(content: str) -> None:
    parsed = parse_reply(content)
    assert len(parsed.text) <= len(content)
