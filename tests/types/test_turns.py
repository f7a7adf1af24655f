"""Turns and trajectories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from agentworld_sim import (
    Action,
    FileEntry,
    Observation,
    StateChange,
    ToolCall,
    Trajectory,
    Turn,
    UsageError,
    read_turns,
)
from agentworld_sim.types.exchanges import Exchange
from agentworld_sim.types.turns import CheckVerdict, InnerAnswer

texts = st.text(st.characters(codec="utf-8"), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
entries = st.builds(
    FileEntry,
    kind=st.sampled_from(["file", "directory", "symlink", "fifo"]),
    mode=st.integers(0, 0o7777),
    mtime_us=st.integers(0, 2**50),
    content=texts,
    size=st.integers(0, 2**40),
    owner=texts,
    group=texts,
)
exchanges = st.builds(
    Exchange,
    about=texts,
    messages=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    parameters=st.dictionaries(texts, json_values, max_size=2),
    content=texts,
    thinking=texts,
    finish_reason=texts,
    usage=st.dictionaries(texts, st.integers(0, 10**6), max_size=2),
    seconds=st.floats(0, 1e6),
    first_token_seconds=st.none() | st.floats(0, 1e6),
    source=st.sampled_from(["server", "cache", "shared"]),
    tagged=st.booleans(),
    problem=texts,
)
turns = st.builds(
    Turn,
    parent=st.text("0123456789abcdef", min_size=40, max_size=40),
    call=st.builds(ToolCall, texts, st.dictionaries(texts, json_values, max_size=3), texts),
    action=st.builds(Action, texts),
    observation=st.builds(
        Observation,
        text=texts,
        structured=json_values,
        is_error=st.booleans(),
        provenance=st.sampled_from(["computed", "imagined", "replayed", "real", "enforced"]),
    ),
    change=st.builds(
        StateChange,
        clock_us=st.integers(0, 2**52),
        files=st.dictionaries(texts, st.none() | entries, max_size=3),
        sessions=st.dictionaries(texts, st.none() | texts, max_size=2),
        values=st.dictionaries(texts, json_values, max_size=2),
        seed=st.none() | st.integers(0, 2**40),
    ),
    inner=st.lists(
        st.builds(
            InnerAnswer,
            argv=st.lists(texts, max_size=2).map(tuple),
            stdin_hash=texts,
            occurrence=st.integers(0, 9),
            answer=st.dictionaries(texts, json_values, max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    checks=st.lists(st.builds(CheckVerdict, texts, st.booleans(), texts), max_size=2).map(tuple),
    exchanges=st.lists(exchanges, max_size=2).map(tuple),
)


def made_turn(**changes: object) -> Turn:
    fields: dict[str, object] = {
        "parent": "0" * 40,
        "call": ToolCall("bash", {"command": "ls"}, "call-1"),
        "action": Action("ls\n"),
        "observation": Observation(text="a\n"),
        "change": StateChange(clock_us=5),
    }
    return Turn(**{**fields, **changes})  # pyright: ignore[reportArgumentType]


@given(turns)
def test_a_line_read_and_written_again_has_the_same_bytes(turn: Turn) -> None:
    line = turn.to_line()
    assert Turn.from_line(line).to_line() == line
    assert Turn.from_line(line).ref == turn.ref


@given(st.lists(turns, max_size=4))
def test_a_trajectory_survives_a_file_byte_for_byte(listed: list[Turn]) -> None:
    lines = [turn.to_line() for turn in listed]
    assert [turn.to_line() for turn in Trajectory.read(lines)] == lines


def test_a_trajectory_is_written_as_json_lines_and_streamed_back(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    trajectory = Trajectory((made_turn(), made_turn(action=Action("pwd\n"))))
    trajectory.write(file)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 2
    assert next(read_turns(file)) == trajectory.turns[0]
    assert Trajectory.read(file) == trajectory


ASKED = Exchange(
    about="observation",
    messages=(("user", "0" * 40),),
    parameters={"model": "m"},
    content="a",
    thinking="it is a",
)


def test_ids_and_exchanges_are_no_part_of_a_ref() -> None:
    other = made_turn(call=ToolCall("bash", {"command": "ls"}, "call-2"), exchanges=(ASKED,))
    assert made_turn().ref == other.ref


@pytest.mark.parametrize(
    "changes",
    [
        {"parent": "1" * 40},
        {"call": ToolCall("bash", {"command": "pwd"})},
        {"observation": Observation(text="a\n", is_error=True)},
        {"observation": Observation(text="a\n", provenance="imagined")},
        {"change": StateChange(clock_us=6)},
        {"inner": (InnerAnswer(("git",), "", 0, {}),)},
    ],
)
def test_everything_that_happened_is_part_of_a_ref(changes: dict[str, object]) -> None:
    assert made_turn(**changes).ref != made_turn().ref


def test_an_edited_record_is_refused_by_its_ref() -> None:
    value = json.loads(made_turn().to_line())
    value["observation"]["text"] = "b\n"
    with pytest.raises(UsageError, match="does not hash to its own ref"):
        Turn.from_line(json.dumps(value))


def test_a_line_that_is_no_turn_is_named_by_its_number() -> None:
    with pytest.raises(UsageError, match=r"line 2: not a turn: 'nonsense'"):
        Trajectory.read([made_turn().to_line(), "nonsense"])


def test_an_empty_line_between_turns_is_passed_over() -> None:
    line = made_turn().to_line()
    assert len(Trajectory.read([line, "\n", line])) == 2
