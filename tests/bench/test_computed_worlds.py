"""Worlds that are computed here as a source of truth: the same each time, and right to whoever knows them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import assume, given, settings, strategies as st

from agentworld_sim.bench.computed_worlds import record
from agentworld_sim.bench.labels import labels_of
from agentworld_sim.bench.predict import Row, SessionPlayer, operations_of
from agentworld_sim.bench.scores import score
from agentworld_sim.bench.transitions import (
    RecordedCall,
    Transition,
    TransitionSet,
    parse_json,
)
from agentworld_sim.engines.call_question import CallQuestion
from agentworld_sim.ports import ImaginedValue, StepContext
from tests.properties import examples

# The sessions are recorded anew for them; `test_rules` records some each time.
pytestmark = pytest.mark.slow


@cache
def computed() -> TransitionSet:
    return record()


@cache
def transitions() -> tuple[Transition, ...]:
    return tuple(computed().transitions())


@cache
def certain() -> tuple[Transition, ...]:
    """Those in which nothing is drawn by chance: only what the world said and did is right."""
    return tuple(one for one in transitions() if not one.truth.by_chance)


class Oracle:
    """Implements `Imaginer`: knows the truth, and calls what is drawn by chance by names of its own."""

    def __init__(self, truth: Sequence[Transition], names: Mapping[str, str] | None = None) -> None:
        self.truth = truth
        self.names = names or {}

    async def ask(self, question: Any, context: StepContext) -> ImaginedValue[Any]:
        assert isinstance(question, CallQuestion)
        asked = self.truth[len(question.history)]
        said = asked.truth.observation
        result: Any = said.text
        if said.is_error:
            result = {"content": [{"type": "text", "text": said.text}], "isError": True}
        text = json.dumps({"result": result, "operations": operations_of(asked)})
        for name, other in self.names.items():
            text = text.replace(name, other)
        return ImaginedValue(question.read(text), "imagined")


async def play(truth: Sequence[Transition], oracle: Oracle, *, whole: bool = False) -> list[Row]:
    async with SessionPlayer.open(truth[0].session, oracle) as player:
        answers = player.predict_all() if whole else player.predict_each(truth)
        return [row async for row in answers]


def test_enough_is_recorded_of_every_kind() -> None:
    found = transitions()
    assert len(found) == 768
    sides = Counter(one.side for one in found)
    assert min(sides.values()) > 100
    assert sum(bool(one.truth.changes) for one in found) > 200
    labels = Counter(label for one in found for label in labels_of(one))
    assert labels.keys() == {
        *("after 10 calls", "after 50 calls", "after 100 calls", "a call that fails"),
        *("an empty table", "a table with one record", "a table with 100 records and more"),
        *("ids that look alike", "letters beyond ASCII", "texts that mislead"),
        "numbers at their limits",
        *("a task's last call", "deterministic", "pre-existing", "runtime metadata"),
    }
    assert labels["after 100 calls"] == 80


def test_other_processes_record_the_same_bytes(tmp_path: Path) -> None:
    computed().write(tmp_path / "here.jsonl")
    program = (
        "import sys; from pathlib import Path; from agentworld_sim.bench.computed_worlds import record;"
        "record().write(Path(sys.argv[1]))"
    )
    there = tmp_path / "there.jsonl"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", program, str(there)], env=environment, check=True)
    assert there.read_bytes() == (tmp_path / "here.jsonl").read_bytes()


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    computed().write(tmp_path / "computed.jsonl")
    assert TransitionSet.load([tmp_path / "computed.jsonl"]) == computed()


@pytest.mark.parametrize("whole", [False, True])
async def test_who_knows_the_truth_is_right_everywhere(whole: bool) -> None:
    for session in computed().sessions:
        truth = list(session.transitions())
        for found in await play(truth, Oracle(truth), whole=whole):
            assert found.score.right, found
            assert found.score.text
            assert found.score.form
            assert not found.score.contradicts


async def test_an_id_that_was_drawn_goes_by_its_predicted_name_for_the_whole_session() -> None:
    session = next(one for one in computed().sessions if one.task == "tracker long 0")
    truth = list(session.transitions())
    drawn = sorted({name for call in session.calls for name in call.by_chance})
    names = {name: f"00000000-0000-4000-8000-{place:012}" for place, name in enumerate(drawn)}
    later = [one for one in truth if set(names) & set(map(str, one.truth.call.arguments.values()))]
    assert later, "no later call names a comment that the session has made"
    assert all(one.score.right for one in await play(truth, Oracle(truth, names), whole=True))


async def test_a_change_that_was_forgotten_stays_forgotten() -> None:
    session = next(one for one in computed().sessions if one.task == "bank usual 0")
    truth = list(session.transitions())
    place, last = _last_change(session.calls)
    calls = [*session.calls[:place], replace(last, changes={}), *session.calls[place + 1 :]]
    forgetful = list(replace(session, calls=tuple(calls)).transitions())
    found = await play(truth, Oracle(forgetful), whole=True)
    states = [one.score.state for one in found]
    assert states == [number < place for number in range(len(truth))]
    assert states.count(False) > 1
    again = await play(truth, Oracle(forgetful))
    assert [one.score.state for one in again].count(False) == 1


def _last_change(calls: Sequence[RecordedCall]) -> tuple[int, RecordedCall]:
    """The first call that changes what no later call changes."""
    for place, one in enumerate(calls):
        keys = {key for records in one.changes.values() for key in records}
        later = {
            key
            for other in calls[place + 1 :]
            for records in other.changes.values()
            for key in records
        }
        if keys and not keys & later:
            return place, one
    raise AssertionError("there is none")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)


@settings(max_examples=examples(150))
@given(st.data())
def test_a_changed_answer_is_never_right(data: st.DataObject) -> None:
    asked = data.draw(st.sampled_from(certain()))
    said = asked.truth.observation
    value = parse_json(said.text)
    other = data.draw(_changed(value))
    text = other if isinstance(other, str) else json.dumps(other)
    assume(parse_json(text) != value)
    found = score(asked, text, said.is_error, asked.truth.changes)
    assert not found.value
    assert not found.right
    assert found.silent
    assert not score(asked, said.text, not said.is_error, asked.truth.changes).right


def _changed(value: Any) -> st.SearchStrategy[Any]:
    """The value with one place changed."""
    if isinstance(value, dict) and value:
        fields = cast("dict[str, Any]", value)
        return st.sampled_from(sorted(fields)).flatmap(
            lambda name: st.one_of(
                _changed(fields[name]).map(lambda one: {**fields, name: one}),
                st.just({key: one for key, one in fields.items() if key != name}),
                st.just({**fields, f"{name}_": fields[name]}),
            )
        )
    if isinstance(value, list) and value:
        items = cast("list[Any]", value)
        return st.sampled_from(range(len(items))).flatmap(
            lambda place: st.one_of(
                _changed(items[place]).map(lambda one: [*items[:place], one, *items[place + 1 :]]),
                st.just(items[:place] + items[place + 1 :]),
                st.just([*items, items[place]]),
            )
        )
    return SCALARS


@settings(max_examples=examples(150))
@given(st.data())
def test_a_changed_state_is_never_right(data: st.DataObject) -> None:
    asked = data.draw(st.sampled_from(certain()))
    before, truth = asked.before, asked.truth
    table = data.draw(st.sampled_from(sorted(before)))
    known = {**before[table], **truth.changes.get(table, {})}
    key = data.draw(st.sampled_from(sorted(known)) if known else st.just("new"))
    record = truth.changes.get(table, {}).get(key, before[table].get(key))
    if record is None:
        # It is gone, or never was: it must not be there.
        wrong: Any = {asked.session.keys[table]: key}
    else:
        wrong = data.draw(st.none() | _changed(dict(record)).filter(lambda one: one != record))
    changes = {**truth.changes, table: {**truth.changes.get(table, {}), key: wrong}}
    found = score(asked, truth.observation.text, truth.observation.is_error, changes)
    assert not found.state
    assert not found.right
    assert found.silent
