"""Evidence: one file about an endpoint, gone on with where it stopped, without a key."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentworld_sim.bench import computed_worlds, run
from agentworld_sim.bench.curves import coverage, reliability
from agentworld_sim.bench.endpoint_evidence import collect, read_evidence, rungs_of
from agentworld_sim.bench.run import Row, read_run
from agentworld_sim.bench.scores import Score
from agentworld_sim.bench.transitions import TransitionSet
from agentworld_sim.cli import cli
from agentworld_sim.errors import ModelUnavailable, UsageError
from agentworld_sim.llm.scripted import ErrorReply, ModelRequest, Reply, ScriptedModelServer
from agentworld_sim.llm.settings import ModelSettings

KEY = "sk-9f31c7d2e8b64a05"
NOTHING = '<predicted_observation>\n{"result": {}, "operations": []}\n</predicted_observation>'


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "RESAMPLES", 40)


@pytest.fixture
def tasks(recording: Callable[..., Path]) -> TransitionSet:
    """Sessions of all sides."""
    path = recording(*(f"task_{number}" for number in range(6)))
    path.write_text(path.read_text().replace("open_order", "create_order"))
    found = TransitionSet.load([path])
    assert {one.side for one in found.transitions()} == {"train", "known", "unseen"}
    return found


async def measured(tasks: TransitionSet, url: str, output: Path, **changes: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "most": 3,
        "seeds": 2,
        "rungs": rungs_of(["look-up", "own"], [0, 64]),
        **changes,
    }
    settings = ModelSettings(url=url, api_key=KEY, retries=0, max_tokens=500)
    await collect(tasks, settings, output, **asked)
    return read_evidence(output)


async def test_one_file_has_the_endpoint_the_rungs_and_every_answer(
    tasks: TransitionSet, tmp_path: Path
) -> None:
    told: list[tuple[int, int]] = []

    def tell(answers: int, total: int) -> None:
        told.append((answers, total))

    with ScriptedModelServer(lambda request: NOTHING, model="small", api_key=KEY) as server:
        found = await measured(tasks, server.url, tmp_path / "e.json", on_answers=tell)
    assert (found["model"], found["prompts"], found["sides"]) == (
        "small",
        "v1",
        ["known", "unseen"],
    )
    assert found["server"]["version"] == {"version": "0.32.0"}
    assert [one["id"] for one in found["server"]["models"]] == ["small"]
    assert found["doctor"]["checks"][0]["check"] == "server"
    names = [rung["name"] for rung in found["rungs"]]
    assert names == ["look-up", "own", "thinking-0", "thinking-64"]
    own = found["rungs"][1]
    assert own["settings"]["max_tokens"] == 500
    assert own["rows"][0]["replies"][0]["content"] == NOTHING
    assert {"right, known tools", "right, unseen tools"} <= own["figures"].keys()
    assert 0 < own["cost"]["requests"] <= 1  # some are saved: the sessions are alike
    assert found["rungs"][2]["settings"]["thinking"] is False
    assert {row["id"] for rung in found["rungs"] for row in rung["rows"]} == {*found["questions"]}
    assert told[-1] == (48, 48)
    assert found["finished"]


@pytest.mark.promise("key-stays-secret")
async def test_no_key_is_in_the_file_even_where_the_server_repeats_it(
    tasks: TransitionSet, tmp_path: Path
) -> None:
    said = NOTHING.replace("{}", f'"your key is {KEY}"')
    with ScriptedModelServer(lambda request: said, api_key=KEY) as server:
        await measured(tasks, server.url, tmp_path / "e.json")
    text = (tmp_path / "e.json").read_text()
    assert KEY not in text
    assert "your key is (hidden)" in text


async def test_what_was_asked_is_not_asked_again(tasks: TransitionSet, tmp_path: Path) -> None:
    def limited(most: int) -> Callable[[ModelRequest], Reply | str]:
        given = 0

        def reply(request: ModelRequest) -> Reply | str:
            nonlocal given
            given += 1
            return NOTHING if given <= most else ErrorReply(503)

        return reply

    output, runs = tmp_path / "e.json", tmp_path / "e.runs"
    with ScriptedModelServer(limited(10**9)) as server:
        whole = await measured(tasks, server.url, tmp_path / "whole.json")
        port = int(server.root_url.rpartition(":")[2])
    with ScriptedModelServer(limited(12), port=port) as server:
        with pytest.raises(ModelUnavailable):
            await measured(tasks, server.url, output)
        assert read_evidence(output)["finished"] == ""
    rows = sum(len(read_run(path)[1]) for path in runs.glob("*-?.jsonl"))
    with ScriptedModelServer(limited(10**9), port=port) as server:
        again = await measured(tasks, server.url, output)
        total = sum(len(rung["rows"]) for rung in again["rungs"])
        # A few are saved by the cache; the doctor asks nothing again.
        assert 0 < len(server.requests) <= total - rows < total - 6
        before = len(server.requests)
        assert await measured(tasks, server.url, output)
        assert len(server.requests) == before
    figures = [[rung["figures"] for rung in one["rungs"]] for one in (again, whole)]
    assert figures[0] == figures[1]
    assert again["set"] == whole["set"]


async def test_a_folder_of_another_endpoint_is_refused(
    tasks: TransitionSet, tmp_path: Path
) -> None:
    output = tmp_path / "e.json"
    with ScriptedModelServer(lambda request: NOTHING, model="one") as server:
        await measured(tasks, server.url, output)
    refused = pytest.raises(UsageError, match=r"answers of 'one' .* Name another --output")
    with ScriptedModelServer(lambda request: NOTHING, model="two") as server, refused:
        await measured(tasks, server.url, output)


async def test_an_endpoint_that_is_down_leaves_nothing(
    tasks: TransitionSet, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        with pytest.raises(ModelUnavailable, match="nothing listens there"):
            await measured(tasks, url, tmp_path / "e.json")
    assert {path.name for path in tmp_path.iterdir()} == {"shop.jsonl"}


async def test_an_endpoint_that_fails_to_answer_is_asked_nothing_else(
    tasks: TransitionSet, tmp_path: Path
) -> None:
    with ScriptedModelServer(lambda request: ErrorReply(500)) as server:
        with pytest.raises(ModelUnavailable, match="answers with 500"):
            await measured(tasks, server.url, tmp_path / "e.json")
        assert len(server.requests) == 1
    assert not (tmp_path / "e.runs").exists()


def test_a_rung_that_is_unknown_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no rung 'stat'\. Did you mean 'state'"):
        rungs_of(["stat"], [])


def test_a_side_that_has_nothing_is_said(recording: Callable[..., Path], tmp_path: Path) -> None:
    nothing = measured(TransitionSet(), "http://127.0.0.1:9/v1", tmp_path / "e.json")
    with pytest.raises(UsageError, match="nothing of the set is on the side known or unseen"):
        nothing.send(None)


def row(confidence: float | None, right: bool) -> Row:
    score = Score(text=right, value=right, form=right, state=True, changed=0)
    return Row(
        id="a/0", session="a", tool="t", side="known", score=score, text="", changes={},
        refused="", confidence=confidence, signals=None, usage={},
    )  # fmt: skip


def test_curves_by_hand() -> None:
    rows = [row(0.95, True), row(0.85, True), row(0.85, False), row(0.1, False), row(None, False)]
    assert reliability(rows) == [(10.0, 0.0), (85.0, 50.0), (95.0, 100.0)]
    assert coverage(rows) == [(20.0, 100.0), (60.0, pytest.approx(200 / 3)), (80.0, 50.0)]
    assert reliability(rows[-1:]) == coverage(rows[-1:]) == []


@pytest.fixture
def command(tasks: TransitionSet, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, with a small set in place of the one that is built in."""
    monkeypatch.setattr(computed_worlds, "record", lambda: tasks)

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments)])

    return call


def test_the_command_measures_and_compares(command: Callable[..., Result], tmp_path: Path) -> None:
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    with ScriptedModelServer(lambda request: NOTHING) as server:
        for most, file in enumerate(files, 1):
            done = command(
                "evidence", server.url, "--output", file, "--rung", "own", "--most", most
            )
            assert done.exit_code == 0, done.output
    done = command("bench", "compare", *files, "-o", tmp_path / "page.html")
    assert done.exit_code == 0
    assert "warning: The files differ in set (" in done.stderr
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_the_command_says_what_is_down_and_what_is_no_evidence(
    command: Callable[..., Result], tmp_path: Path
) -> None:
    down = command("evidence", "http://127.0.0.1:9/v1", "--output", tmp_path / "e.json")
    assert down.exit_code == 4
    assert "cannot be reached" in down.stderr
    nothing = command("evidence", "", "--output", tmp_path / "e.json")
    assert nothing.exit_code == 2
    assert "the model URL '' is not one" in nothing.stderr
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"form": "agentworld evidence 0"}))
    refused = command("bench", "compare", other, "-o", tmp_path / "page.html")
    assert refused.exit_code == 2
    assert "its form is 'agentworld evidence 0'" in refused.stderr
    assert not (tmp_path / "page.html").exists()
