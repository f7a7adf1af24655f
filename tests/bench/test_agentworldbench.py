"""AgentWorldBench from the command line: predicted, judged, scored and shown, against a scripted server."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from click.testing import CliRunner, Result

from agentworld_sim.bench.row_runs import read_rows, read_run
from agentworld_sim.bench.row_scores import judged_runs, normal, summary
from agentworld_sim.cli import cli
from agentworld_sim.llm.scripted import ModelRequest, ScriptedModelServer, ScriptedReply
from tests.bench.made_rows import make_row, say, verdict, write_rows


def command(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["bench", *map(str, arguments)])


def told_by(result: Result) -> str:
    """What was said, however it was broken into lines."""
    return " ".join(result.output.split())


def predict(files: list[Path], output: Path, url: str, *more: object) -> Result:
    return command("run", *files, "--output", output, "--model-url", url, *more)


def rate(output: Path, files: list[Path], url: str, *more: object) -> Result:
    return command("judge", output, *files, "--judge-url", url, *more)


def one_file(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "terminal_test.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_bench_is_predicted_judged_scored_and_shown(tmp_path: Path) -> None:
    files, output = write_rows(tmp_path), tmp_path / "run.jsonl"
    with ScriptedModelServer(say, prefix_caching=False) as server:
        assert predict(files, output, server.url).exit_code == 0
        asked = len(server.requests)
        assert rate(output, files, server.url).exit_code == 0
        paid = len(server.requests)
        # Once more, and nothing is asked.
        for again in (predict(files, output, server.url), rate(output, files, server.url)):
            assert again.exit_code == 0
            assert "29/29" in again.stderr
        assert len(server.requests) == paid
        assert (asked, paid) == (28, 56)
    run = read_run(output)
    # One row of Android stands there twice: it is asked once and counted twice.
    assert len(run.predicted) == 29
    rows = judged_runs(run)[0].rows
    told = summary(judged_runs(run)[0])
    totals = [one.ratings.total for one in rows if one.ratings]
    assert told["micro"]["total"] == normal(mean(totals))
    assert told["macro"]["total"] == mean(one["total"] for one in told["domains"].values())
    assert {one["rows"] for one in told["domains"].values()} == {4, 5}
    low, high = told["domains"]["os"]["interval"]
    assert low <= told["domains"]["os"]["total"] <= high
    assert "mean of domains" in command("score", output).stdout
    page = tmp_path / "page.html"
    assert command("report", output, "-o", page).exit_code == 0
    assert "<script" not in page.read_text() and "show-android" in page.read_text()
    assert ", 29 of 29 rated</li>" in page.read_text()
    assert command("report", output, "-o", tmp_path / "page.md").exit_code == 0
    assert "| mean of rows |" in (tmp_path / "page.md").read_text()
    assert "written as .html or .md" in command("report", output, "-o", tmp_path / "x.pdf").output


def test_history_reaches_the_model_and_can_be_left_out(tmp_path: Path) -> None:
    path = one_file(tmp_path, make_row("terminal", 2), make_row("terminal", 2, system_str=""))
    with ScriptedModelServer(say, prefix_caching=False) as server:
        predict([path], tmp_path / "on.jsonl", server.url)
        told = [[one["role"] for one in request.messages] for request in server.requests]
        assert sorted(told) == [
            ["system", "user", "assistant", "user"],
            ["user", "assistant", "user"],
        ]
        predict([path], tmp_path / "off.jsonl", server.url, "--history", "off")
        assert [one["role"] for one in server.requests[2].messages][-1:] == ["user"]
        assert {len(one.messages) for one in server.requests[2:]} == {1, 2}
    assert [read_run(tmp_path / f"{name}.jsonl").about["history"] for name in ("on", "off")] == [
        True,
        False,
    ]


def test_bad_lines_are_named_and_counted(tmp_path: Path) -> None:
    lacking = {key: value for key, value in make_row("terminal", 1).items() if key != "response"}
    path = one_file(
        tmp_path, '{"task', make_row("terminal", 1), lacking, "[1]", make_row("web", 1), make_row("terminal", 1, turn_idx=9)
    )  # fmt: skip
    rows, problems = read_rows([path])
    assert len(rows) == 1
    assert [one.partition(":")[2].strip()[:34] for one in problems] == [
        "the line is not JSON: Unterminated",
        "the row has no 'response'. A row i",
        "the line is no JSON object.",
        "the row is of the domain 'web', an",
        "`turn_idx` is 9, and the row has 2",
    ]
    with ScriptedModelServer(say, prefix_caching=False) as server:
        said = predict([path], tmp_path / "run.jsonl", server.url)
        assert "left out: terminal_test.jsonl, line 1: the line is not JSON" in said.stderr
        rate(tmp_path / "run.jsonl", [path], server.url)
    assert len(summary(judged_runs(read_run(tmp_path / "run.jsonl"))[0])["left out"]) == 5
    path.write_text('{"task": "terminal", "id": 1, "prompt": 3}\n')
    assert "there is no usable row" in told_by(
        command("run", path, "--output", tmp_path / "x", "--recorded")
    )


def test_failures_are_counted_and_are_no_zeros(tmp_path: Path) -> None:
    """A model that says nothing, a judge in prose, one out of range."""
    path = one_file(
        tmp_path, *(make_row("terminal", turn, one) for one in (0, 1) for turn in (1, 2))
    )

    def reply(request: ModelRequest) -> str | ScriptedReply:
        text = request.last_user
        if "final_evaluation" not in text:
            nothing = request.system.startswith("You are terminal 0") and len(request.messages) == 2
            return ScriptedReply("", thinking="hm") if nothing else f"reply {len(request.messages)}"
        return (
            verdict([9, 3, 3, 3, 3])
            if "terminal 1 said 2" in text
            else "A fine prediction, 5 of 5."
        )

    output = tmp_path / "run.jsonl"
    with ScriptedModelServer(reply, prefix_caching=False) as server:
        predict([path], output, server.url)
        rate(output, [path], server.url)
        # The unreadable ones were asked three times each.
        assert len(server.requests) == 4 + 2 * 3 + 1
    told = summary(judged_runs(read_run(output))[0])
    assert told["failures"] == {"no prediction": 1, "the judge is not readable": 2}
    assert (told["micro"]["total"], told["clamped"]) == (60.0, 1)
    assert told["domains"]["terminal"]["rated"] == 1
    shown = command("score", output).stdout
    assert "failed: no prediction" in shown
    # The domain, both means, and five dimensions: each says that it is of one row of four.
    assert shown.count("1 of 4 rated") == 8


def test_a_rating_of_nothing_is_a_failure_and_no_mean(tmp_path: Path) -> None:
    path, output = tmp_path / "web_test.jsonl", tmp_path / "run.jsonl"
    path.write_text(json.dumps(make_row("web", 1)) + "\n")
    terminal = one_file(tmp_path, make_row("terminal", 1))

    def reply(request: ModelRequest) -> str:
        given = [0, 0, 0, 0, -1] if "web 0 said" in request.last_user else [3, 3, 3, 3, 0]
        return verdict(given) if "final_evaluation" in request.last_user else say(request)

    with ScriptedModelServer(reply, prefix_caching=False) as server:
        predict([path, terminal], output, server.url)
        rate(output, [path, terminal], server.url)
    shown = command("score", output).stdout
    assert "failed: the judge rated below 1" in shown
    assert "0 of 1 rated" in shown and "1 of 2 rated, 1 of 2 domains" in shown
    counts = json.loads(command("score", output, "--json").stdout).popitem()[1]["domains"]
    assert counts["terminal"]["counts"]["quality"] == 0


def test_a_judge_that_cannot_be_read_is_said_and_asked_again(tmp_path: Path) -> None:
    path = one_file(tmp_path, make_row("terminal", 1), make_row("terminal", 2))
    output = tmp_path / "run.jsonl"
    readable = 0

    def reply(request: ModelRequest) -> str:
        if "final_evaluation" not in request.last_user or len(server.requests) <= readable:
            return say(request)
        return "A fine prediction."

    with ScriptedModelServer(reply, prefix_caching=False) as server:
        predict([path], output, server.url)
        readable, before = 3, len(server.requests)
        said = rate(output, [path], server.url, "--concurrency", 1)
        assert (said.exit_code, len(server.requests) - before) == (0, 4)
        assert "3 of 4 replies of the judge" in told_by(said)
        assert "asks for rows without ratings up to 3 times more" in told_by(said)
        held = output.read_text()
        # A run that was cut off goes on with its attempts.
        output.write_text("".join(held.splitlines(keepends=True)[:-1]))
        said = rate(output, [path], server.url)
        assert output.read_text() == held
        # A later one asks once more for the row that has no rating, with other seeds.
        readable = 99
        said = rate(output, [path], server.url, "--budget", "5 requests")
        assert "3 of 5 replies" in told_by(said)
        assert (
            len({str(one.body.get("seed")) for one in server.requests}) == len(server.requests) - 1
        )
        assert len(read_run(output).replies) == 5
        assert {one.failed for one in judged_runs(read_run(output))[0].rows} == {""}
        asked = len(server.requests)
        assert rate(output, [path], server.url).exit_code == 0
        assert len(server.requests) == asked
    with ScriptedModelServer(lambda request: "Nonsense.", model="other") as server:
        said = rate(output, [path], server.url)
        assert said.exit_code == 4
        assert "6 of 6 replies of the judge other cannot be read" in told_by(said)
        said = rate(output, [path], server.url, "--judge", "othr")
        assert "Set --judge to one of them" in told_by(said)


def test_columns_say_in_what_the_settings_of_one_judge_differ(tmp_path: Path) -> None:
    path, output = one_file(tmp_path, make_row("terminal", 1)), tmp_path / "run.jsonl"
    with ScriptedModelServer(say, prefix_caching=False, model="one") as server:
        predict([path], output, server.url)
        for temperature, tokens in ((0.6, 800), (0, 800), (0, 900)):
            asking = ("--temperature", temperature, "--max-tokens", tokens)
            assert rate(output, [path], server.url, *asking).exit_code == 0
    told = json.loads(command("score", output, "--json").stdout)
    assert [*told] == [
        "one, temperature 0.6, max_tokens 800",
        "one, temperature 0.0, max_tokens 800",
        "one, temperature 0.0, max_tokens 900",
    ]
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "run.jsonl"
    other.write_bytes(output.read_bytes())
    shown = tmp_path / "new" / "page.md"
    assert command("report", output, other, "-o", shown).exit_code == 0
    assert shown.read_text().count("by one, temperature 0.6") == 4


def test_a_run_that_was_cut_off_goes_on_and_one_with_other_settings_does_not(
    tmp_path: Path,
) -> None:
    files, output = write_rows(tmp_path, 1), tmp_path / "run.jsonl"
    with ScriptedModelServer(say, prefix_caching=False) as server:
        predict(files, output, server.url)
        rate(output, files, server.url)
        whole = output.read_bytes()
        # In the middle of a line, which may be any: of the head, of a prediction, of a judgement.
        for at in (20, len(whole) // 3, len(whole) - 40):
            output.write_bytes(whole[:at])
            before, done = len(server.requests), whole[:at].count(b"\n")
            predict(files, output, server.url)
            rate(output, files, server.url)
            assert sorted(output.read_bytes().split(b"\n")) == sorted(whole.split(b"\n"))
            assert len(server.requests) - before <= 32 - done
        other = predict(files, output, server.url, "--seed", 3)
        assert "seed (the file: 0, this run: 3)" in told_by(other)
    output.write_bytes(whole.replace(b'{"key"', b'{"kee"', 1))
    assert "line 2: this is no line of a run" in told_by(command("score", output))


def test_a_budget_ends_a_run_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    files, output = write_rows(tmp_path, 1), tmp_path / "run.jsonl"
    with ScriptedModelServer(say, prefix_caching=False) as server:
        said = predict(files, output, server.url, "--budget", "5 requests")
        assert "the budget of 5 requests is spent" in told_by(said)
        assert (len(server.requests), len(read_run(output).predicted)) == (5, 5)
        assert predict(files, output, server.url, "--budget", "99 requests").exit_code == 0
        assert len(server.requests) == 14
        # Nothing is left to ask, so nothing is refused.
        assert predict(files, output, server.url, "--budget", "1 tokens").exit_code == 0
        said = rate(
            output, files, server.url, "--budget", "0.001 USD", "--price", 1, 2, "--concurrency", 1
        )
        assert "0.001 USD is spent" in told_by(said)
        assert 14 < len(server.requests) < 28
    for amount in ("12", "0 tokens", "3 dollars", "1 USD"):
        said = predict(files, output, "http://127.0.0.1:9/v1", "--recorded", "--budget", amount)
        assert said.exit_code == 2


def test_another_model_in_the_middle_of_a_run_is_refused(tmp_path: Path) -> None:
    files, output = write_rows(tmp_path, 1), tmp_path / "run.jsonl"
    with ScriptedModelServer(say, prefix_caching=False, model="one") as server:
        predict(files, output, server.url, "--budget", "5 requests")
    with ScriptedModelServer(say, prefix_caching=False, model="two") as server:
        said = predict(files, output, server.url)
        assert "model (the file: one, this run: two)" in told_by(said)
    head, *lines = output.read_text().split("\n")
    output.write_text("\n".join([head, *(line.replace('"one"', '"old"') for line in lines)]))
    with ScriptedModelServer(say, prefix_caching=False, model="one") as server:
        said = predict(files, output, server.url)
        assert "answers as 'one', and the run was begun with 'old'" in told_by(said)
        assert len(read_run(output).predicted) == 5
        rate(output, files, server.url)
    scored = command("score", output)
    assert "5 of 15 rated" in scored.stdout and "failed: not predicted yet" in scored.stdout
    assert "10 rows are not predicted yet, and in no mean; `agentworld bench run`" in scored.stderr


def test_parts_of_one_run_are_merged_and_others_refused(tmp_path: Path) -> None:
    files = write_rows(tmp_path, 1)
    with ScriptedModelServer(say, prefix_caching=False) as server:
        for part, some, seed in (("a", files[:3], 0), ("b", files[3:], 0), ("c", files[3:], 1)):
            predict(some, tmp_path / part, server.url, "--seed", seed)
            rate(tmp_path / part, some, server.url)
    told = json.loads(command("score", tmp_path / "a", tmp_path / "b", "--json").stdout)
    assert [(one["rows"], len(one["domains"])) for one in told.values()] == [(15, 7)]
    said = command("score", tmp_path / "a", tmp_path / "c")
    assert "different runs, they differ in seed" in told_by(said)
    said = command("score", tmp_path / "b", tmp_path / "b")
    assert said.exit_code == 2


def test_worlds_and_recorded_replies_answer_rows_too(tmp_path: Path) -> None:
    scenario = tmp_path / "machine.yaml"
    scenario.write_text("name: machine\ndomains: [terminal]\n")
    actions = [
        '{"name": "bash", "arguments": {"command": "echo 5 > a"}}',
        '{"name": "bash", "arguments": {"command": "cat a"}}',
    ]
    row = make_row("terminal", 2, prompt=actions, current_prompt="", gen="as recorded")
    path, output = one_file(tmp_path, row), tmp_path / "run.jsonl"
    assert command("run", path, "--output", output, "--scenario", scenario).exit_code == 0
    (done,) = read_run(output).predicted.values()
    assert (done.prediction.reply, done.prediction.usage) == ("5\n", None)
    assert command("run", path, "--output", tmp_path / "r", "--recorded").exit_code == 0
    (done,) = read_run(tmp_path / "r").predicted.values()
    assert done.prediction.reply == "as recorded"
    # A row that stands there twice may bring two replies.
    twice = one_file(tmp_path, row, {**row, "gen": "otherwise"})
    command("run", twice, "--output", tmp_path / "twice", "--recorded")
    held = read_run(tmp_path / "twice").predicted.values()
    assert [one.prediction.reply for one in held] == ["as recorded", "otherwise"]
    said = command(
        "run", one_file(tmp_path, {**row, "gen": ""}), "--output", tmp_path / "no", "--recorded"
    )
    assert "1 rows, 1 failed: the row brings no reply." in told_by(said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--side", "known"), "--side means nothing for rows"),
        (("--samples", 3), "--samples means nothing for rows"),
        (
            ("--scenario", "machine.yaml", "--history", "off"),
            "--history means nothing with --scenario",
        ),
        (("--recorded", "--scenario", "machine.yaml"), "--scenario means nothing with --recorded"),
        (
            ("--recorded", "--model-url", "http://127.0.0.1:9/v1"),
            "--model-url means nothing with --recorded",
        ),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    tmp_path: Path, given: tuple[object, ...], said: str
) -> None:
    path = one_file(tmp_path, make_row("terminal", 1))
    done = command("run", path, "--output", tmp_path / "x", *given)
    assert done.exit_code == 2
    assert said in told_by(done)
    assert not (tmp_path / "x").exists()


def test_the_luck_of_a_computed_world_is_none(tmp_path: Path) -> None:
    actions = tmp_path / "actions.jsonl"
    actions.write_text('{"name": "bash", "arguments": {"command": "ls"}}\n')
    said = command("luck", "failing-test", actions, "--repeats", 3, "--json")
    told = json.loads(said.stdout)["computed"]
    assert (len(told["rewards"]), told["spread"]) == (3, 0.0)
    actions.write_text("ls\n")
    assert "actions.jsonl, line 1: it is no call" in told_by(
        command("luck", "failing-test", actions)
    )


@pytest.mark.slow
def test_a_run_killed_at_any_moment_equals_one_that_was_not(tmp_path: Path) -> None:
    files = write_rows(tmp_path, 15)
    asked: list[str] = []

    def reply(request: ModelRequest) -> ScriptedReply:
        asked.append(request.last_user + request.system)
        return ScriptedReply(say(request), delay_s=0.05)

    chance = random.Random(20)
    with ScriptedModelServer(reply, prefix_caching=False) as server:
        whole = tmp_path / "whole.jsonl"
        assert predict(files, whole, server.url).exit_code == 0
        assert rate(whole, files, server.url).exit_code == 0
        output, kills = tmp_path / "killed.jsonl", 0
        url = ["--model-url", server.url, "--concurrency", "4"]
        stages: list[list[object]] = [
            ["run", *files, "--output", output, *url],
            ["judge", output, *files, "--judge-url", server.url, "--concurrency", "4"],
        ]
        again = 0
        for stage in stages:
            done = False
            while not done:
                asked.clear()
                held = replies_in(output)
                process = subprocess.Popen(
                    [sys.executable, "-m", "agentworld_sim.cli", "bench", *map(str, stage)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                # At a moment that begins with requests under way.
                last = chance.randint(1, 25)
                while kills < 20 and len(asked) < last and process.poll() is None:
                    time.sleep(0.005)
                if kills < 20:
                    time.sleep(chance.uniform(0, 0.06))
                    process.kill()
                    kills += 1
                done = process.wait() == 0
                # Whatever had been answered and written is not asked again; what was under way at the kill is.
                fresh = replies_in(output) - held
                assert len(asked) - fresh <= 4, (len(asked), fresh)
                again += len(asked) - fresh
    assert kills == 20
    assert lines_without_chance(output) == lines_without_chance(whole)
    assert again > 10


def replies_in(path: Path) -> int:
    """Replies of a file that were paid."""
    if not path.exists() or b"\n" not in path.read_bytes():
        return 0
    run = read_run(path)
    return len(run.payments()) + sum(len(run.payments(judge)) for judge in run.judges)


def lines_without_chance(path: Path) -> list[str]:
    return sorted(path.read_text().split("\n"))


def test_a_file_of_another_kind_is_called_by_its_kind(
    tmp_path: Path, recording: Callable[..., Path]
) -> None:
    rows, run = one_file(tmp_path, make_row("terminal", 1, gen="x")), tmp_path / "run.jsonl"
    assert command("run", rows, "--output", run, "--recorded").exit_code == 0
    calls, empty, notes = recording("task_1"), tmp_path / "empty.jsonl", tmp_path / "notes.md"
    empty.write_text("")
    notes.write_text("# Figures\n\n[1, 2]\n")
    asking = ("--output", tmp_path / "x", "--model-url", "http://127.0.0.1:9/v1")
    for words, said in (
        (("thinking", run), f"{str(run)!r} holds a run over rows, not a run over recordings"),
        (("report", rows), "holds rows in AgentWorldBench form, not a run over recordings"),
        (("score", calls), "holds recordings of `agentworld bench make`, not a run over rows"),
        (("score", notes), "holds something else, not a run over rows. Name another file."),
        (("run", rows, "--output", notes, "--recorded"), "holds something else, not a run over rows"),
        (("transfer", "--output", run), "holds a run over rows, not trials of `agentworld bench transfer`"),
        (("run", empty, *asking), "empty.jsonl' holds nothing, not rows in AgentWorldBench form or recordings"),
        (("run", notes, *asking), "notes.md' holds something else, not rows"),
        (("run", rows, calls, *asking), "are no one run: give files of one kind"),
        (("run", calls, rows, *asking), "are no one run: give files of one kind"),
    ):  # fmt: skip
        held = {path: path.read_bytes() for path in tmp_path.iterdir()}
        done = command(*words)
        assert (done.exit_code, said in told_by(done)) == (2, True), (words, done.output)
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == held


def test_mistakes_are_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "no-text.jsonl").write_bytes(b"\xff\xfe\n")
    (tmp_path / "calls.jsonl").write_text('{"name": "frob", "arguments": {}}\n')
    (tmp_path / "none.jsonl").write_text("\n")
    for words, said in (
        (["report", "no-text.jsonl"], "no-text.jsonl"),
        (["luck", "failing-test", "calls.jsonl"], "there is no tool 'frob'"),
        (["luck", "failing-test", "none.jsonl"], "holds no call"),
        (["luck", "failing-test", "calls.jsonl", "--repeats", "1"], "--repeats"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "agentworld_sim.cli", "bench", *words],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done
        assert said in done.stderr
        assert "Traceback" not in done.stderr
