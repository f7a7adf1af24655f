"""Splitting a stream into events."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from agentworld_sim.llm import _stream
from agentworld_sim.llm._stream import EventReader, MalformedReply, ReplyReader
from tests.llm.harness import chunk


def events_of(pieces: list[bytes]) -> list[bytes]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return [*events, *reader.end()]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(stream)) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@given(
    st.lists(st.binary(max_size=30).filter(lambda b: b"\n" not in b and b"\r" not in b)),
    st.sampled_from([b"\n", b"\r\n"]),
    st.lists(st.integers(0, 400)),
)
def test_events_are_the_same_however_the_stream_is_cut(
    data: list[bytes], newline: bytes, places: list[int]
) -> None:
    stream = b"".join(b"data: " + one + newline + newline for one in data)
    assert events_of(cut(stream, places)) == data


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_any_bytes_are_split_alike_however_they_are_cut(stream: bytes, places: list[int]) -> None:
    assert events_of(cut(stream, places)) == events_of([stream])


@given(st.text(max_size=300), st.lists(st.integers(0, 3_000)))
def test_text_survives_cuts_in_the_middle_of_characters(text: str, places: list[int]) -> None:
    reply = ReplyReader()
    for event in events_of(cut(chunk(text), places)):
        reply.event(event)
    assert reply.content == text


def test_a_line_without_end_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stream, "LARGEST_ANSWER", 3 << 20)
    reader = EventReader()
    with pytest.raises(MalformedReply, match="a line of more than 3 MB"):
        for _ in range(4 * 16 + 1):
            list(reader.feed(b"x" * 65_536))


def test_a_reply_without_end_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_stream, "LARGEST_ANSWER", 1 << 20)
    reply = ReplyReader()
    event = chunk("x" * 65_536).removeprefix(b"data: ")
    with pytest.raises(MalformedReply, match="a reply of more than 1 MB") as raised:
        for _ in range(17):
            reply.event(event)
    assert "look into the server's log" in raised.value.hint


def test_looking_at_a_long_reply_takes_time_in_proportion_to_it() -> None:
    copied = 0

    def watch(content: str, thinking: str) -> None:
        nonlocal copied
        copied += len(content)

    reply, event = ReplyReader(watch), chunk("x" * 100).removeprefix(b"data: ")
    for _ in range(20_000):
        reply.event(event)
    assert len(reply.content) == 2_000_000
    # A geometric series: eleven times the whole, where looking every 2 kB would be 500 times.
    assert copied < 12 * 2_000_000
