"""The folder of a run: what is kept, what is refused, what is told."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

from agentworld_sim.errors import UsageError
from agentworld_trainers.recipes import Recipe, load_recipe
from agentworld_trainers.stages._progress import LINE_SECONDS, progress
from agentworld_trainers.stages._run import Run

PLAIN = {"steps": 5, "batch_size": 2}


def made(folder: Path, **parts: object) -> Recipe:
    return Recipe.model_validate({"name": "r", "output": str(folder), **parts})


def test_a_stage_keeps_the_recipe_and_a_line_of_metrics_per_step(tmp_path: Path) -> None:
    recipe = made(tmp_path, sft=PLAIN)
    with Run(recipe).stage("sft") as stage:
        stage.log(1, {"loss": 2.5})
        stage.log(2, {"loss": 2.25})
    assert [(line["step"], line["loss"]) for line in stage.metrics()] == [(1, 2.5), (2, 2.25)]
    assert all(line["seconds"] >= 0 for line in stage.metrics())
    assert load_recipe(tmp_path / "sft") == recipe


def test_another_recipe_in_the_same_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    with Run(made(tmp_path, sft=PLAIN)).stage("sft") as stage:
        (stage.folder / "checkpoint-1").mkdir()
    with pytest.raises(UsageError, match=r"`sft\.batch_size` was 2 and is 4.*--fresh"):
        Run(made(tmp_path, sft={**PLAIN, "batch_size": 4})).stage("sft")
    with pytest.raises(UsageError, match=r"`seed` was 0 and is 1"):
        Run(made(tmp_path, sft=PLAIN, seed=1)).stage("sft")


def test_a_mistake_that_made_nothing_can_be_corrected(tmp_path: Path) -> None:
    with Run(made(tmp_path, sft=PLAIN)).stage("sft") as stage:
        stage.log(0, {"held_out/exact": 0.5})
        stage.hold("data", "wrong")
        stage.hold("data", "right")
        assert stage.metrics() == []
        stage.log(0, {"held_out/exact": 0.25})
    again = made(tmp_path, sft={**PLAIN, "batch_size": 4})
    with Run(again).stage("sft") as stage:
        assert stage.metrics() == []
        stage.hold("data", "another")
    assert load_recipe(tmp_path / "sft") == again


def test_a_damaged_copy_of_the_recipe_is_told(tmp_path: Path) -> None:
    with Run(made(tmp_path, sft=PLAIN)).stage("sft") as stage:
        (stage.folder / "recipe.toml").write_text('name = "r')
    with pytest.raises(UsageError, match=r"recipe\.toml'.* is damaged: .*--fresh"):
        Run(made(tmp_path, sft=PLAIN)).stage("sft")


def test_a_key_that_came_after_a_stage_was_begun_has_its_default(tmp_path: Path) -> None:
    with Run(made(tmp_path, rl={"steps": 4})).stage("rl") as stage:
        (stage.folder / "checkpoint-1").mkdir()
        told = stage.folder / "recipe.toml"
        written = told.read_text()
        told.write_text(written.replace("mismatch_limit = 0.02\n", ""))
        assert told.read_text() != written
    Run(made(tmp_path, rl={"steps": 4})).stage("rl").close()
    assert told.read_text() == written
    told.write_text(written.replace("mismatch_limit", "match_limit"))
    with pytest.raises(UsageError, match=r"`rl\.match_limit` was 0\.02 and is not set"):
        Run(made(tmp_path, rl={"steps": 4})).stage("rl")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("facts.json", '{"data": "a', r"facts\.json', which says what .* is damaged: .*--fresh"),
        (
            "metrics.jsonl",
            '{"step": 1}\n{"st\n',
            r"metrics\.jsonl', line 2, is damaged: .*Take the ",
        ),
    ],
)
def test_a_damaged_file_of_a_stage_is_named(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    with Run(made(tmp_path, sft=PLAIN)).stage("sft") as stage:
        (stage.folder / name).write_text(text)
        with pytest.raises(UsageError, match=told):
            _ = stage.metrics() if name == "metrics.jsonl" else stage.hold("data", "a")


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"written to '.*file/sft': Not a directory.*--output"):
        Run(made(tmp_path / "file", sft=PLAIN)).stage("sft")


def test_beginning_anew_moves_nothing_while_a_later_stage_is_written(tmp_path: Path) -> None:
    run = Run(made(tmp_path, sft=PLAIN, rl={}))
    run.stage("sft").close()
    with run.stage("rl"):
        fresh = Run(made(tmp_path, sft=PLAIN, rl={}), fresh=True)
        with pytest.raises(UsageError, match=r"another process is writing .*rl"):
            fresh.stage("sft")
    assert {path.name for path in tmp_path.iterdir()} == {"sft", "rl"}


def test_what_decides_nothing_may_differ_and_so_may_other_stages(tmp_path: Path) -> None:
    Run(made(tmp_path, sft=PLAIN)).stage("sft").close()
    again = made(tmp_path, sft={**PLAIN, "save_every": 1, "threads": 1}, rl={"steps": 3})
    Run(again).stage("sft").close()


def test_beginning_anew_keeps_what_was_there_and_what_stood_on_it(tmp_path: Path) -> None:
    run = Run(made(tmp_path, sft=PLAIN, rl={}))
    for name in ("cpt", "sft", "rl"):
        with run.stage(name) as stage:
            stage.log(1, {"loss": 1.0})
            stage.final.mkdir()
    fresh = Run(made(tmp_path, sft={**PLAIN, "batch_size": 4}), fresh=True)
    with fresh.stage("sft") as stage:
        assert stage.metrics() == []
        assert not stage.finished
    assert {path.name for path in tmp_path.iterdir()} == {"cpt", "sft", "sft.old-1", "rl.old-1"}
    assert (tmp_path / "sft.old-1" / "metrics.jsonl").read_text().count("\n") == 1
    assert fresh.start_of("rl") == tmp_path / "cpt" / "final"


def test_a_stage_begins_with_the_last_one_before_it_that_is_finished(tmp_path: Path) -> None:
    run = Run(made(tmp_path))
    assert run.start_of("agent") is None
    (tmp_path / "cpt" / "final").mkdir(parents=True)
    (tmp_path / "rl" / "checkpoint-5").mkdir(parents=True)
    assert run.start_of("agent") == tmp_path / "cpt" / "final"
    (tmp_path / "sft" / "final").mkdir(parents=True)
    assert run.start_of("agent") == run.start_of("rl") == tmp_path / "sft" / "final"
    assert run.start_of("cpt") is None


def test_a_stage_does_not_begin_with_random_weights_where_another_comes_first(
    tmp_path: Path,
) -> None:
    run = Run(made(tmp_path, sft=PLAIN, rl={}))
    with pytest.raises(UsageError, match=r"'rl' would begin with random weights: 'sft'.*`sft=`"):
        run.start_of("rl")
    assert run.start_of("sft") is None
    assert Run(made(tmp_path, sft=PLAIN, model={"path": "mine"})).start_of("rl") is None


def test_a_stage_is_not_taken_up_with_another_beginning(tmp_path: Path) -> None:
    run = Run(made(tmp_path, sft=PLAIN, model={"path": "mine"}))
    with run.stage("rl") as stage:
        run.hold_start("rl", run.start_of("rl"))
        (stage.folder / "checkpoint-1").mkdir()
    (tmp_path / "sft" / "final").mkdir(parents=True)
    with run.stage("rl"), pytest.raises(UsageError, match="begun with another start"):
        run.hold_start("rl", run.start_of("rl"))


def test_two_processes_do_not_write_one_stage(tmp_path: Path) -> None:
    holds = (
        "import sys; from agentworld_trainers.recipes import Recipe\n"
        "from agentworld_trainers.stages._run import Run\n"
        "stage = Run(Recipe(name='r', output=sys.argv[1])).stage('sft')\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        for fresh in (False, True):
            with pytest.raises(UsageError, match="another process is writing"):
                Run(made(tmp_path), fresh=fresh).stage("sft")
        other.kill()
    # A killed process holds nothing.
    Run(made(tmp_path)).stage("sft").close()


def test_metrics_that_a_kill_has_cut_off_are_left_out_and_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Run(made(tmp_path)).stage("sft") as stage:
        for step in (10, 20, 30):
            stage.log(step, {"loss": 1.0})
        with (stage.folder / "metrics.jsonl").open("a") as file:
            file.write('{"step": 40, "lo')
        assert [line["step"] for line in stage.metrics()] == [10, 20, 30]
        monkeypatch.setattr(
            "agentworld_trainers.stages._run.sound_checkpoint", lambda _: Path("checkpoint-20")
        )
        stage.resume()
        stage.log(30, {"loss": 0.5})
        assert [line["step"] for line in stage.metrics()] == [10, 20, 30]


def test_a_fact_must_be_the_same_when_a_stage_is_taken_up_again(tmp_path: Path) -> None:
    run = Run(made(tmp_path))
    with run.stage("sft") as stage:
        stage.hold("data", "abc")
        stage.hold("data", "abc")
        (stage.folder / "checkpoint-1").mkdir()
    with run.stage("sft") as stage, pytest.raises(UsageError, match="begun with another data"):
        stage.hold("data", "abd")


def test_missing_data_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="agentworld train data RECIPE"):
        Run(made(tmp_path)).data("sft.jsonl")


def test_plain_progress_is_a_line_now_and_then_with_the_time_left() -> None:
    out, now = io.StringIO(), [0.0]
    with progress(10, "sft", done=2, stream=out, clock=lambda: now[0]) as told:
        for step in range(3, 7):
            now[0] += LINE_SECONDS / 2
            told.step(step, {"loss": 1.23456})
        told.say("a warning")
    lines = out.getvalue().splitlines()
    assert lines == [
        "sft 4/10, 0:00:30 left, loss 1.235",
        "sft 6/10, 0:00:20 left, loss 1.235",
        "a warning",
        "sft 6/10, 0:00:20 left, loss 1.235",
    ]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_and_lines_above_it() -> None:
    out = _Terminal()
    with progress(4, "sft", stream=out) as told:
        told.step(1, {"loss": 1.0})
        told.say("[a] warning")
        told.step(4, {"loss": 0.5})
    text = out.getvalue()
    assert "[a] warning" in text
    assert "4/4" in text and "loss 0.5" in text
