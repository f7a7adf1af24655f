"""What is read out while a model writes is what is read in the end."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from agentworld_sim.imagination.parsing import Listener, parse_reply

PIECES = st.lists(
    st.sampled_from(
        [
            "<predicted_observation>",
            "</predicted_observation>",
            "<think>",
            "</think>",
            "<b>",
            "<",
            "</pre",
            "\n",
            "\r\n",
            " ",
            "```",
            "**Environment",
            "a < b",
            "In Utrecht.",
        ]
    ),
    max_size=12,
)


def heard(content: str, cuts: list[int], *, thinks: bool = False) -> str:
    told: list[str] = []
    listener = Listener(told.append, thinks=thinks)
    listener.begin()
    ends = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    for start, end in pairwise(ends):
        listener.hear(content[start:end], thought=False)
    assert all(told)
    return "".join(told)


@given(PIECES, st.lists(st.integers(0, 200)))
def test_however_a_reply_is_cut_the_same_is_told(pieces: list[str], cuts: list[int]) -> None:
    content = "".join(pieces)
    told = heard(content, cuts)
    assert told == heard(content, list(range(len(content))))
    assert "predicted_observation>" not in told and "think>" not in told


@given(st.text(), st.lists(st.integers(0, 200)))
def test_what_is_told_of_a_whole_answer_is_the_answer(text: str, cuts: list[int]) -> None:
    content = f"<predicted_observation>\n{text}\n</predicted_observation>"
    told = heard(content, cuts)
    # What the end unwraps is not told at all.
    assert told in ("", parse_reply(content).text)
    if text and "<" not in text and not text.lstrip().startswith(("`", "*")):
        assert told == text


def test_a_reader_that_fails_gets_no_more() -> None:
    told: list[str] = []

    def read(text: str) -> None:
        told.append(text)
        raise ValueError("no")

    listener = Listener(read, thinks=False)
    listener.begin()
    for piece in ("<predicted_observation>", "one ", "two"):
        listener.hear(piece, thought=False)
    assert told == ["one "]
