"""Measuring checkpoints on held-out predictions."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from agentworld_sim.errors import ModelUnavailable, UsageError
from agentworld_sim.llm.scripted import (
    Disconnect,
    ModelRequest,
    Reply,
    ScriptedModelServer,
    ScriptedReply,
)
from agentworld_trainers.data._rows import write_rows
from agentworld_trainers.stages._eval import EvalReport, Outcome, Rate, evaluate
from agentworld_trainers.stages._run import Run
from agentworld_trainers.stages._sft_stages import train_sft
from tests.trainers.stages import tiny

SAMPLES = [tiny.sample(n, thinking="echo", observation=f"{n}") for n in range(4)]


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows the first two of four samples by heart."""
    folder = tmp_path_factory.mktemp("learnt")
    part = {"steps": 90, "batch_size": 2, "learning_rate": 1e-2, "save_every": 90, "threads": 1}
    recipe = tiny.recipe(folder, sft=part)
    write_rows(folder / "data" / "sft.jsonl", SAMPLES[:2])
    return train_sft(recipe, Run(recipe))


def test_a_checkpoint_is_measured_and_says_what_it_wrote(learnt: Path, tmp_path: Path) -> None:
    told: list[int] = []
    report = evaluate(learnt, SAMPLES, max_tokens=80, told=told.append)
    assert told == [1, 2, 3, 4]
    assert [one.id for one in report.outcomes] == [sample.id for sample in SAMPLES]
    assert [one.exact for one in report.outcomes] == [True, True, False, False]
    assert report.outcomes[0].text.endswith(
        "</think>\n\n<predicted_observation>\n0\n</predicted_observation>"
    )
    assert (report.overall.exact.count, report.overall.exact.of) == (2, 4)
    # The same model and samples give the same report, also one that was not finished.
    again = evaluate(learnt.parent / "checkpoint-90", SAMPLES, max_tokens=80)
    assert again.outcomes == report.outcomes
    report.write(tmp_path / "eval.json")
    written = json.loads((tmp_path / "eval.json").read_text())
    assert written["overall"]["exact"]["share"] == 0.5
    assert written["tasks"]["task-0"]["exact"]["count"] == 1
    assert re.search(r"^all +4 +50\.0 % \(15\.0-85\.0\)", report.table(), re.MULTILINE)
    assert "task task-3" in report.table()


def test_an_answer_that_is_cut_is_no_answer(learnt: Path) -> None:
    report = evaluate(learnt, SAMPLES[:1], max_tokens=4)
    assert not report.overall.form.count
    assert report.outcomes[0].reason.startswith("cut")
    assert report.outcomes[0].tokens == 4


def right(request: ModelRequest) -> Reply:
    number = request.last_user.rpartition("echo ")[2]
    if number == "3":
        return ScriptedReply("no tag at all")
    return ScriptedReply.observation(number, thinking="echo" if request.enable_thinking else "")


def test_a_server_is_measured_as_a_checkpoint_is() -> None:
    with ScriptedModelServer(right) as server:
        report = evaluate(server.url, SAMPLES)
    assert [one.exact for one in report.outcomes] == [True, True, True, False]
    assert [one.form for one in report.outcomes] == [True, True, True, False]
    body = server.requests[0].body
    assert body["temperature"] == 0
    assert server.requests[0].enable_thinking
    assert [message["role"] for message in server.requests[0].messages] == ["system", "user"]


def test_a_server_that_is_down_is_no_wrong_answer() -> None:
    with (
        ScriptedModelServer([Disconnect()] * 40) as server,
        pytest.raises(ModelUnavailable),
    ):
        evaluate(server.url, SAMPLES[:2])


def test_no_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no samples"):
        evaluate(tmp_path, [])


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    # Worked out from Wilson's formula by hand, z = 1.96.
    [
        (0, 10, 0.0, 0.2775),
        (5, 10, 0.2366, 0.7634),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),
    ],
)
def test_intervals_are_wilsons(count: int, of: int, low: float, high: float) -> None:
    assert Rate(count, of).interval == pytest.approx((low, high), abs=1e-4)


def test_groups_have_their_own_scores() -> None:
    one = Outcome(
        id="a",
        task="t",
        domain="swe",
        computed=True,
        form=True,
        exact=True,
        agreement=1.0,
        tokens=None,
        reason="",
        text="",
    )
    other = dataclasses.replace(one, domain="mcp", exact=False, computed=False, agreement=0.5)
    report = EvalReport("m", False, (one, other))
    assert {name: scores.exact.count for name, scores in report.by("domain").items()} == {
        "mcp": 0,
        "swe": 1,
    }
    assert (report.computed.exact.of, report.overall.agreement) == (1, 0.75)
    assert report.overall.tokens is None
