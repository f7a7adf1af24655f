"""Programs are accepted for what recordings show, and wrong ones and wrong recordings are not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings, strategies as st

from agentworld_sim.bench.acceptance import (
    ProgramAnswer,
    _changes,  # pyright: ignore[reportPrivateUsage]
    answer_of,
    first_wrong,
    missing_evidence,
    unnoticed_mutation,
)
from agentworld_sim.bench.predict import RecordedTables, operations_of
from agentworld_sim.bench.program_author import ROUNDS, compile_tools
from agentworld_sim.bench.transitions import RecordedSession, Transition, TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.engines.program import Program, load_programs
from agentworld_sim.engines.table import Table, records_in
from agentworld_sim.errors import ContextOverflow
from agentworld_sim.llm.chat import ChatMessage
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.types.files import FileTree
from agentworld_sim.types.state import StateChange, WorldState
from tests.properties import examples

SCHEMA = {"type": "object", "properties": {"litres": {"type": "number"}}}
RIGHT = """
def answer(arguments, tables, now, seed):
    level = tables["settings"]["level"]["value"] + arguments["litres"]
    if level > 50:
        return {"error": "the tank holds 50 litres"}
    change = {"kind": "put", "table": "settings", "record": {"name": "level", "value": level}}
    return {"value": {"level": level}, "operations": [change]}
"""
WRONG = {
    "off by one": ("level > 50", "level >= 50"),
    "no side effect": ("[change]", "[]"),
    "a forgotten error": ("level > 50", "False"),
    "no argument": ('arguments["litres"]', "4"),
    "a deed beside": ("[change]", '[change, {**change, "record": {"name": "other", "value": 1}}]'),
    "an error as an answer": ('"error":', '"text":'),
}


def turn(litres: int, level: int) -> tuple[dict[str, Any], int]:
    after = level + litres
    fails = after > 50
    record = {"name": "level", "value": after}
    return {
        "name": "fill",
        "arguments": {"litres": litres},
        "text": "the tank holds 50 litres" if fails else json.dumps({"level": after}),
        "is_error": fails,
        "by_chance": [],
        "probe": False,
        "changes": {} if fails else {"settings": {"level": record}},
    }, level if fails else after


def recording(path: Path, tasks: int = 12) -> TransitionSet:
    """Sessions in which a tank is filled until it overflows, and to the brim."""
    lines: list[Any] = [
        {"tool": {"name": "fill", "description": "Fills.", "inputSchema": SCHEMA}, "api": "car"}
    ]
    for task in range(tasks):
        level, turns = task, list[Any]()
        for litres in (task + 1, 60, 50 - 2 * task - 1):
            one, level = turn(litres, level)
            turns.append(one)
        settings = {"level": {"name": "level", "value": task}}
        lines.append({"state": f"s{task}", "tables": {"settings": settings}})
        about = {"source": "car 1", "apis": ["car"], "keys": {"settings": "name"}}
        lines.append({**about, "task": f"task_{task}", "initial": f"s{task}", "turns": turns})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return TransitionSet.load([path])


@pytest.fixture
def tank(tmp_path: Path) -> TransitionSet:
    return recording(tmp_path / "tank.jsonl")


def parts(recorded: TransitionSet) -> tuple[list[Transition], list[Transition]]:
    every = list(recorded.transitions())
    shown = [one for one in every if not one.session.held_out]
    return shown, [one for one in every if one.session.held_out]


def block(code: str) -> str:
    return f"Here it is:\n```python\n{code}\n```\n"


async def compiled(
    recorded: TransitionSet, *replies: str
) -> tuple[Program | str, list[list[ChatMessage]]]:
    asked: list[list[ChatMessage]] = []

    async def author(messages: Sequence[ChatMessage]) -> str:
        asked.append(list(messages))
        return replies[min(len(asked), len(replies)) - 1]

    ((_, found),) = [one async for one in compile_tools(recorded, author)]
    return found, asked


async def test_a_right_program_is_accepted(tank: TransitionSet) -> None:
    found, asked = await compiled(tank, block(RIGHT))
    assert isinstance(found, Program)
    assert (found.code.strip(), found.input_schema) == (RIGHT.strip(), SCHEMA)
    assert found.kinds == ["dict level", "failure the tank holds litres"]
    assert found.held_out == len(parts(tank)[1]) and len(asked) == 1


@pytest.mark.parametrize("what", WRONG)
async def test_a_subtly_wrong_program_is_not(tank: TransitionSet, what: str) -> None:
    code = RIGHT.replace(*WRONG[what])
    assert code != RIGHT
    found, asked = await compiled(tank, block(code))
    assert found == f"no program of {ROUNDS} reproduces what its author is shown"
    assert len(asked) == ROUNDS
    assert first_wrong(code, parts(tank)[1]) is not None


async def test_an_author_is_told_what_its_last_program_got_wrong(tank: TransitionSet) -> None:
    found, asked = await compiled(tank, block(RIGHT.replace("> 50", ">= 50")), block(RIGHT))
    assert isinstance(found, Program) and len(asked) == 2
    assert [one.role for one in asked[1]] == ["system", "user", "assistant", "user"]
    assert '"your program": ["the tank holds 50 litres", {}]' in asked[1][-1].content


async def test_what_is_held_out_is_never_told(tank: TransitionSet) -> None:
    _, asked = await compiled(tank, "no code at all")
    told = "\n".join(one.content for messages in asked for one in messages)
    shown, held_out = parts(tank)
    known = {json.dumps(dict(one.before)) for one in shown}
    assert any(state in told for state in known)
    for one in held_out:
        assert json.dumps(dict(one.before)) in known or json.dumps(dict(one.before)) not in told


async def test_a_tool_whose_examples_do_not_fit_the_author_is_refused(tank: TransitionSet) -> None:
    async def author(messages: Sequence[ChatMessage]) -> str:
        raise ContextOverflow("8,192 tokens at most")

    assert [one async for one in compile_tools(tank, author)] == [
        ("fill", "its examples do not fit into the author's context: 8,192 tokens at most")
    ]


async def test_recordings_learnt_by_heart_are_refused(tank: TransitionSet) -> None:
    known = {
        json.dumps([dict(one.truth.call.arguments), one.before["settings"]["level"]["value"]]): [
            one.truth.observation.text,
            one.truth.observation.is_error,
            operations_of(one),
        ]
        for one in parts(tank)[0]
    }
    code = f"""
import json
KNOWN = {known!r}

def answer(arguments, tables, now, seed):
    key = json.dumps([arguments, tables["settings"]["level"]["value"]])
    text, fails, operations = KNOWN[key]
    return {{"error": text}} if fails else {{"text": text, "operations": operations}}
"""
    found, _ = await compiled(tank, block(code))
    assert isinstance(found, str) and found.startswith(
        "the program is wrong in the held-out recording"
    )


@pytest.mark.parametrize("code", ["import socket", "def answer(): pass", ""])
def test_a_program_that_gives_no_answer_reproduces_nothing(tank: TransitionSet, code: str) -> None:
    one = parts(tank)[1][0]
    said = answer_of(code, one)
    assert said.failure and not said.is_right(one)


def test_recordings_must_be_able_to_tell(tmp_path: Path) -> None:
    shown, held_out = parts(recording(tmp_path / "tank.jsonl"))
    assert missing_evidence(shown, held_out) == ""
    assert "7 held-out recordings, and 8" in missing_evidence(shown, held_out[:7])
    assert "0 held-out recordings come out as none" in missing_evidence(held_out, held_out)
    fitting = [one for one in held_out if not one.truth.observation.is_error]
    assert "ends like task_" in missing_evidence(shown, fitting)


def test_each_of_five_mutations_is_noticed_and_a_check_that_notices_none_accepts_nothing(
    tank: TransitionSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_out = parts(tank)[1]
    assert unnoticed_mutation(RIGHT, held_out) == ""

    def is_right(said: ProgramAnswer, transition: Transition) -> bool:
        return True

    monkeypatch.setattr(ProgramAnswer, "is_right", is_right)
    assert unnoticed_mutation(RIGHT, held_out) == "another answer"


def test_a_program_that_does_not_look_at_its_arguments_is_noticed(tank: TransitionSet) -> None:
    every = parts(tank)[1]
    held_out = [one for one in every if one.truth.observation.is_error][:1]
    held_out += [one for one in every if not one.truth.observation.is_error][:1]
    texts = {
        one.before["settings"]["level"]["value"]: [
            one.truth.observation.text,
            one.truth.observation.is_error,
            operations_of(one),
        ]
        for one in held_out
    }
    assert len(texts) == 2
    code = f"""
def answer(arguments, tables, now, seed):
    text, fails, operations = {texts!r}[tables["settings"]["level"]["value"]]
    return {{"error": text}} if fails else {{"text": text, "operations": operations}}
"""
    assert first_wrong(code, held_out) is None
    assert unnoticed_mutation(code, held_out) == "another argument"


KEYS = st.sampled_from(["a", "b", "1", 1])
PUTS = st.fixed_dictionaries(
    {"kind": st.just("put"), "table": st.just("t")},
    optional={"record": st.fixed_dictionaries({"id": KEYS}, optional={"x": st.integers(0, 2)})},
).filter(lambda one: "record" in one)
DELETES = st.fixed_dictionaries({"kind": st.just("delete"), "table": st.just("t"), "key": KEYS})


@settings(max_examples=examples(150))
@given(operations=st.lists(PUTS | DELETES, max_size=4))
def test_operations_come_to_what_a_world_makes_of_them(operations: list[dict[str, Any]]) -> None:
    before = {"a": {"id": "a", "x": 1, "y": 1}, "1": {"id": 1}}
    records = RecordedTables(tables={"t": Table(name="t", key=("id",))})
    begin = [{"kind": "put", "table": "t", "record": record} for record in before.values()]
    empty = WorldState(files=FileTree.from_entries([]), clock_us=0, seed=0)
    state = replace(empty, values=records.changes(empty, {}, begin))
    try:
        changes = _changes(operations, transition_in({"t": before}))
    except ValueError:
        return
    after = {key: one for key, one in {**before, **changes.get("t", {})}.items() if one is not None}
    state = state.after(StateChange(clock_us=0, values=records.changes(state, {}, operations)))
    held = records_in(state, records.plan(()))["t"].values()
    assert after == {str(record["id"]): record for record in held}


def transition_in(before: Mapping[str, Any]) -> Transition:
    session = RecordedSession(
        source="car 1", task="t_1", tools=(), keys={"t": "id"}, initial=before, calls=()
    )
    return Transition(session=session, place=0, before=before)


async def test_the_command_writes_what_was_accepted_and_says_why_the_rest_was_not(
    tmp_path: Path,
) -> None:
    recording(tmp_path / "tank.jsonl")

    def reply(request: ModelRequest) -> str:
        return block(RIGHT)

    async with ScriptedModelServer(reply) as server:
        output = tmp_path / "programs.json"
        arguments = ["bench", "compile", str(tmp_path / "tank.jsonl"), "--output", str(output)]
        told = await asyncio.to_thread(
            CliRunner().invoke,
            cli,
            [*arguments, "--tool", "fill", "--tool", "empty", "--model-url", server.url],
        )
    assert told.exit_code == 0, told.output
    assert "fill: accepted on" in told.output
    assert "empty: refused, only 0 held-out recordings" in told.output
    assert list(load_programs(output)) == ["fill"]
