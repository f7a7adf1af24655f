"""Runs: every call asked in its own state, written as it comes, taken up again, and counted."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentworld_sim.bench import run as runs
from agentworld_sim.bench.make import make
from agentworld_sim.bench.predict import operations_of
from agentworld_sim.bench.ray_cluster import on_ray
from agentworld_sim.bench.run import Row, figure, figures_of, read_run
from agentworld_sim.bench.scores import Score
from agentworld_sim.bench.transitions import Transition, TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.errors import ModelUnavailable, UsageError
from agentworld_sim.imagination import WorldModel
from agentworld_sim.imagination.confidence import Calibration
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings
from agentworld_sim.types.tools import ToolCall
from agentworld_sim.types.turns import Observation


def oracle(transition: Transition) -> str:
    """What a model should write."""
    said = transition.truth.observation
    result: Any = said.text
    if said.is_error:
        result = {"content": [{"type": "text", "text": said.text}], "isError": True}
    return json.dumps({"result": result, "operations": operations_of(transition)})


@pytest.fixture
def transitions(shop: TransitionSet) -> list[Transition]:
    return list(shop.transitions())


def server(transitions: list[Transition], *, wrong: int | None = None) -> ScriptedModelServer:
    """A server that knows every answer, but for that of one place."""

    def reply(request: ModelRequest) -> str:
        place = int(request.last_user.split("### Turn ")[1].split()[0]) - 1
        said = (
            '{"result": "no idea", "operations": []}'
            if place == wrong
            else oracle(transitions[place])
        )
        return f"<predicted_observation>\n{said}\n</predicted_observation>"

    return ScriptedModelServer(reply)


def model(url: str, **settings: Any) -> WorldModel:
    return WorldModel(ModelSettings(url=url, thinking=False, **settings))


async def run(
    asked: list[Transition], model: WorldModel, output: Path, *, whole_sessions: bool = False
) -> list[Row]:
    settings, imaginer = runs.settings_of(model), model.imaginer()
    return await runs.run(asked, imaginer, output, settings=settings, whole_sessions=whole_sessions)


async def test_every_call_is_asked_in_the_state_it_was_made_in(
    transitions: list[Transition], tmp_path: Path
) -> None:
    with server(transitions, wrong=2) as served:
        rows = await run(transitions, model(served.url), tmp_path / "run.jsonl")
    assert [row.score.right for row in rows] == [True, True, False, True, True]
    assert [bool(row.changes) for row in rows] == [True, False, False, False, True]
    assert rows[0].confidence is None
    figures = figures_of(rows)
    assert (figures["right"].share, figures["refused"].share) == (80.0, 0.0)
    assert figures["state, calls that write"].count == 3
    # Of what changes one field, answer and state are two figures.
    assert [figures[f"{part}, 1 field changed"].share for part in ("value", "state")] == [0.0, 0.0]
    assert [figures[f"{part}, 2 to 3 fields"].share for part in ("value", "state")] == [
        100.0,
        100.0,
    ]


async def test_a_run_goes_on_where_it_was_killed_and_asks_nothing_twice(
    transitions: list[Transition], tmp_path: Path
) -> None:
    output = tmp_path / "run.jsonl"
    with server(transitions) as served:
        whole = await run(transitions, model(served.url), output)
        text = output.read_text()
        output.write_text("".join(text.splitlines(keepends=True)[:3]) + text.splitlines()[3][:50])
        before = len(served.requests)
        again = await run(transitions, model(served.url), output)
        assert len(served.requests) - before == 3
        assert [row.score for row in again] == [row.score for row in whole]
        assert len(read_run(output)[1]) == 5
        with pytest.raises(UsageError, match=r"differ in samples \("):
            await run(transitions, model(served.url, samples=2), output)


async def test_a_file_of_something_else_is_not_written_over(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    for text in ("mine", "mine\n"):
        notes.write_text(text)
        with pytest.raises(UsageError, match="holds something else, not a run over recordings"):
            await run([], model("http://127.0.0.1:9/v1"), notes)
        assert notes.read_text() == text


async def test_a_world_that_refuses_is_counted_as_that(
    transitions: list[Transition], tmp_path: Path
) -> None:
    with ScriptedModelServer(lambda request: "<predicted_observation>") as served:
        rows = await run(transitions[:1], model(served.url, reasks=0), tmp_path / "run.jsonl")
    assert "no usable answer" in rows[0].refused
    assert not rows[0].score.right


async def test_a_server_that_is_down_is_no_answer(
    transitions: list[Transition], tmp_path: Path
) -> None:
    with pytest.raises(ModelUnavailable):
        await run(transitions, model("http://127.0.0.1:9/v1", retries=0), tmp_path / "run.jsonl")
    assert not (tmp_path / "run.jsonl").exists()


async def test_a_whole_session_goes_on_with_what_was_answered(
    transitions: list[Transition], tmp_path: Path
) -> None:
    output = tmp_path / "run.jsonl"
    with server(transitions, wrong=2) as served:
        rows = await run(transitions, model(served.url), output, whole_sessions=True)
        assert "no idea" in str(served.requests[-1].messages), "it was told what it had said"
        with pytest.raises(UsageError, match="differ in whole_sessions"):
            await run(transitions, model(served.url), output)
    # Order 4711 was never closed, and nothing makes up for that.
    assert [row.score.value for row in rows] == [True, True, False, True, True]
    assert [row.score.state for row in rows] == [True, True, False, False, False]
    figures = figures_of(rows)
    assert figures["sessions whose first 5 calls are right"].share == 0.0
    ended = figures["state, after a task's last call"]
    assert (ended.share, ended.count) == (0.0, 1)


async def test_a_whole_session_that_was_cut_off_is_asked_anew_and_counted_once(
    transitions: list[Transition], tmp_path: Path
) -> None:
    output = tmp_path / "run.jsonl"
    with server(transitions) as served:
        whole = await run(transitions, model(served.url), output, whole_sessions=True)
        output.write_text("".join(output.read_text().splitlines(keepends=True)[:3]))
        again = await run(transitions, model(served.url), output, whole_sessions=True)
    written = [(row.id, row.score) for row in read_run(output)[1]]
    assert written == [(row.id, row.score) for row in whole]
    assert written == [(row.id, row.score) for row in again]
    assert figures_of(whole)["sessions whose first 5 calls are right"].share == 100.0


async def test_no_answer_is_not_the_empty_answer(shop: TransitionSet, tmp_path: Path) -> None:
    session = shop.sessions[0]
    said = Observation(text="", provenance="real")
    silent = replace(session, calls=(replace(session.calls[1], observation=said),))
    with ScriptedModelServer(lambda request: "<predicted_observation>") as served:
        asked = list(silent.transitions())
        rows = await run(asked, model(served.url, reasks=0), tmp_path / "run.jsonl")
    assert rows[0].refused
    assert not rows[0].score.right


async def test_a_call_that_its_tools_schema_does_not_allow_is_refused_and_ends_no_run(
    shop: TransitionSet, tmp_path: Path
) -> None:
    session = shop.sessions[0]
    strange = replace(session.calls[1], call=ToolCall("show_order", {"order_id": 4711}))
    calls = (session.calls[0], strange, session.calls[2])
    asked = list(replace(session, calls=calls).transitions())
    with server(asked) as served:
        rows = await run(asked, model(served.url), tmp_path / "run.jsonl")
    assert [row.score.right for row in rows] == [True, False, True]
    assert "is not of type 'string'" in rows[1].refused


async def test_figures_are_shown_by_label(transitions: list[Transition], tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    with server(transitions, wrong=3) as served:
        rows = await run(transitions, model(served.url), output)
    figures = figures_of(rows)
    assert figures["right, a call that fails"].count == 1
    assert figures["right, a call that fails"].share == 0.0
    assert figures["right, a table with one record"].count == 1
    # Two files of one name are two columns.
    other = tmp_path / "other" / "run.jsonl"
    other.parent.mkdir()
    other.write_bytes(output.read_bytes())
    arguments = ["bench", "report", str(output), str(other), "--json"]
    told = json.loads(CliRunner().invoke(cli, arguments, catch_exceptions=False).output)
    assert [*told] == [str(output), str(other)]


def test_figures_draw_sessions_not_calls() -> None:
    alike = [(f"task {number // 10}", number < 50) for number in range(100)]
    alone = [(f"task {number}", number < 50) for number in range(100)]
    wide, narrow = figure(alike), figure(alone)
    assert wide.share == narrow.share == 50.0
    assert wide.high - wide.low > narrow.high - narrow.low
    assert figure([]).count == 0


def test_sessions_that_all_agree_leave_room_for_doubt() -> None:
    # Clopper and Pearson's interval of 0 of 30 ends at 11.57 %.
    never, always = (
        figure((f"task {number}", holds) for number in range(30)) for holds in (False, True)
    )
    assert (never.low, round(never.high, 2)) == (0.0, 11.57)
    assert (round(always.low, 2), always.high) == (88.43, 100.0)


def test_figures_by_hand() -> None:
    def row(place: int, value: bool, state: bool, **more: Any) -> Row:
        score = Score(text=value, value=value, form=value, state=state, changed=1, **more)
        return Row(id=f"a/{place}", session="a", tool="t", side="known", score=score)

    rows = [row(place, True, True) for place in range(5)]
    found = figures_of([*rows, row(5, True, False), row(6, True, True, state_known=False)])
    assert (found["right"].share, found["right"].count) == (600 / 7, 7)
    # Where nobody knows the state, no corruption can be seen.
    assert (found["silent corruption of answers"].share, found["state"].count) == (100 / 6, 6)
    name = "sessions whose first 5 calls are right"
    assert found[name].share == 100.0
    assert name not in figures_of(rows[:4] + rows[:4]), "a call of two seeds is one call"
    twice = figures_of([*rows, row(2, False, True)])
    assert (twice[name].share, twice[name].count) == (0.0, 1)


def test_the_command_asks_reports_and_calibrates(
    transitions: list[Transition], recording: Callable[..., Path], tmp_path: Path
) -> None:
    recorded, output = recording("task_1"), tmp_path / "run.jsonl"
    runner = CliRunner()

    def call(*arguments: object) -> str:
        done = runner.invoke(cli, ["bench", *map(str, arguments)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    side = transitions[0].side
    with server(transitions, wrong=0) as served:
        asking = ("--side", side, "--model-url", served.url, "--no-thinking")
        call("run", recorded, "--output", output, *asking)
        call("run", recorded, "--output", tmp_path / "whole.jsonl", "--whole-sessions", *asking)
        other = next(
            one
            for one in ("train", "known", "unseen")
            if one not in {one.side for one in transitions}
        )
        nothing = ("run", recorded, "--output", tmp_path / "none.jsonl", *asking, "--side", other)
        done = runner.invoke(cli, ["bench", *map(str, nothing)])
        sides = ", ".join(sorted({one.side for one in transitions}))
        assert (done.exit_code, (tmp_path / "none.jsonl").exists()) == (2, False)
        assert f"nothing is on the side {other!r}. Sides that have calls: {sides}." in " ".join(
            done.output.split()
        )
    told = json.loads(call("report", tmp_path / "whole.jsonl", "--json"))["whole"]
    assert told["right"]["count"] == len(transitions)
    assert told["sessions whose first 5 calls are right"]["share"] == 0.0
    asked = [one for one in transitions if one.side == side]
    told = json.loads(call("report", output, "--json"))["run"]
    assert told["right"]["count"] == len(asked)
    assert told["cost"]["requests"] == 1.0
    assert "state, 1 field" in (table := call("report", output))
    assert "tokens written, a call" in table
    call("calibrate", output, "--output", tmp_path / "sure.json")
    assert Calibration.load(tmp_path / "sure.json").about["run"] == "run.jsonl"


def test_most_counts_calls_or_whole_sessions(recording: Callable[..., Path]) -> None:
    shop = TransitionSet.load([recording("task_1", "task_2", "task_3")])
    side = next(shop.transitions()).side
    calls = [one for one in shop.transitions() if one.side == side]
    assert runs.draw(shop, side, 2, 0) == [
        one for one in calls if one in runs.draw(shop, side, 2, 0)
    ]
    assert len(runs.draw(shop, side, 2, 0)) == 2
    whole = runs.draw(shop, side, 2, 0, whole_sessions=True)
    tasks = list(dict.fromkeys(one.session.task for one in whole))
    assert len(tasks) == 2
    assert whole == [one for one in shop.transitions() if one.session.task in tasks]


def test_a_source_an_environment_and_a_package_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'bfcl'"):
        make("bfc", tmp_path, tmp_path / "out")
    with pytest.raises(UsageError, match=r"is no Python environment\. Make one"):
        make("bfcl", tmp_path, tmp_path / "out")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    with pytest.raises(UsageError, match="--environment DIR"):
        make("bfcl", None, tmp_path / "out")
    with pytest.raises(UsageError, match="bfcl-eval is not installed"):
        make("bfcl", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


async def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"agentworld-sim\[ray\]"):
        async with on_ray(asyncio.sleep):
            pass
