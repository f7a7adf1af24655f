"""`agentworld train`, as a user runs it."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from agentworld_sim.cli import main
from agentworld_sim.errors import UsageError, WorldFailure
from agentworld_sim.rollouts import RolloutLog, RolloutRecord
from agentworld_trainers._command import boundary, train
from agentworld_trainers.recipes import Recipe, canonical_toml, shipped_recipes
from tests.trainers.stages import tiny

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `agentworld train …` in this process: exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["train", *arguments])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A recipe of a tiny model, with its data."""
    made = tiny.recipe(tmp_path / "run", sft={"steps": 2, "batch_size": 4, "log_every": 1})
    path = tmp_path / "tiny.toml"
    path.write_text(canonical_toml(made))
    return path


def test_help_loads_neither_torch_nor_the_schema() -> None:
    code = (
        "import sys\n"
        "from agentworld_sim.cli import main\n"
        "for arguments in (['train', '--help'], ['train', 'rl', '--help']):\n"
        "    try: main(arguments)\n"
        "    except SystemExit as ended: assert not ended.code\n"
        "print({'torch', 'transformers', 'pydantic'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "set()\n"
    for name in train.commands:
        assert f"\n  {name} " in done.stdout


def test_recipes_are_listed_with_what_they_are(command: Command) -> None:
    code, out, _ = command("recipes")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(shipped_recipes())


def test_a_dry_run_prints_memory_and_tokens_and_makes_nothing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = command("all", "qwen-agentworld-35b", "--dry-run", "hardware.gpus=4")
    assert code == 0
    assert out.startswith("qwen-agentworld-35b: Qwen3_5MoeForCausalLM, 34.7B parameters")
    assert "\nwarning: cpt: does not fit 4 x 80 GB" in out
    _, out, _ = command("rl", "qwen-agentworld-35b", "--dry-run")
    assert "\nrl " in out and "\nsft " not in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("rl", "one-gpuu"), "no recipe 'one-gpuu'"),
        (("rl", "one-gpu", "rl.stepps=3"), "rl.stepps: unknown key. Did you mean 'steps'?"),
        (("agent", "one-gpu"), "has no table [agent]. It has: data, cpt, sft, rl."),
        (("show", "nowhere"), "'nowhere' is no folder of a run"),
        (("eval", "nowhere/final"), "is in no folder of a run with data/eval.jsonl"),
        (("eval", "x", "one-gpu"), "Make the recipe's data first (`agentworld train data"),
        (("sft", "one-gpu", "--output", "{tmp}"), "Make the data first: `agentworld train"),
    ],
)
def test_a_users_mistake_is_one_clear_message(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command(*(word.format(tmp=tmp_path) for word in arguments))
    assert (code, out) == (2, "")
    assert err.startswith("agentworld: ") and message in err


def test_a_stage_is_trained_shown_measured_and_left_alone_when_it_is_finished(
    command: Command, recipe: Path, tmp_path: Path
) -> None:
    code, _, err = command("sft", str(recipe), "sft.save_every=1")
    assert (code, err.splitlines()[-1]) == (0, f"sft: done, in {tmp_path / 'run' / 'sft'}")
    code, out, _ = command("show", str(tmp_path / "run"))
    assert code == 0
    data, stage = out.splitlines()
    assert data == "data: cpt 20, eval 8, sft 20 rows"
    assert stage.split("  ")[:3] == ["sft", "step 2", "finished"]
    assert "loss " in stage and " → " in stage
    report = tmp_path / "report.json"
    final = tmp_path / "run" / "sft" / "final"
    short = ("--max-tokens", "4", "--limit", "3")
    code, out, _ = command("eval", str(final), *short, "--out", str(report))
    assert code == 0
    assert out.splitlines()[0].split() == [
        "samples",
        "exact",
        "form",
        "valid",
        "agreement",
        "tokens",
    ]
    assert len(json.loads(report.read_text())["outcomes"]) == 3
    # The same samples by the recipe, and by their file.
    again = command("eval", str(final), str(recipe), *short)
    assert again[:2] == (0, out)
    assert command("eval", str(final), f"{tmp_path}/run/data/eval.jsonl", *short)[:2] == (0, out)
    code, _, err = command("sft", str(recipe), "sft.save_every=1")
    assert code == 0 and "is finished already" in err


def test_what_a_stage_began_with_cannot_change_but_begins_anew(
    command: Command, recipe: Path, tmp_path: Path
) -> None:
    (stage := tmp_path / "run" / "sft").mkdir()
    (stage / "checkpoint-1").mkdir()
    made = Recipe.model_validate({"name": "tiny", "sft": {"steps": 3}})
    (stage / "recipe.toml").write_text(canonical_toml(made))
    code, _, err = command("sft", str(recipe))
    assert code == 2 and "`sft.steps` was 3 and is 2" in err and "--fresh" in err
    code, _, _ = command("sft", str(recipe), "--fresh")
    assert code == 0
    assert (tmp_path / "run" / "sft.old-1" / "recipe.toml").exists()


def record(number: int, reward: float | None) -> RolloutRecord:
    return RolloutRecord(
        task="task",
        group="0/task",
        index=number,
        seed=1,
        prompt_ids=(1, 2, 3),
        response_ids=(4, 5),
        loss_mask=(1, 1),
        logprobs=(-0.5, -0.5),
        turn_spans=((0, 2),),
        reward=reward,
        reward_parts={} if reward is None else {"exact": 1.0},
        stop_reason="done" if reward else "env_error",
        error="" if reward else "the server is down",
        messages=({"role": "user", "content": "What now?"},),
    )


def test_rollouts_are_listed_and_printed_for_reading(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "rl" / "rollouts" / "step-000000.jsonl"
    with RolloutLog(path) as log:
        for number, reward in enumerate((25.0, 12.5, None)):
            log.write(record(number, reward))
    code, out, _ = command("show", str(tmp_path), "--rollouts", "2")
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["rl", "step", "0", "not", "finished", "3", "rollouts"],
        [],
        ["rollout", "weights", "turns", "tokens", "stopped", "reward"],
        ["task", "#1", "step", "0", "1", "3", "+", "2", "done", "12.5", "exact", "1"],
        [*"task #2 step 0 1 3 + 2 env_error none the server is down".split()],
    ]
    code, out, _ = command("show", str(path))
    assert code == 0 and out.count("--- user\nWhat now?") == 3


def test_an_unfinished_stage_says_where_it_goes_on(command: Command, tmp_path: Path) -> None:
    for name in ("checkpoint-9", "checkpoint-10", "checkpoint-11.partial"):
        (tmp_path / "cpt" / name).mkdir(parents=True)
    code, out, _ = command("show", str(tmp_path))
    assert (code, out) == (0, "cpt  step 0  not finished, goes on from checkpoint-10\n")


RECIPE = Recipe(name="x")


def test_a_stopped_run_says_what_is_kept_and_how_to_go_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("checkpoint-9", "checkpoint-10.partial"):
        (tmp_path / "sft" / name).mkdir(parents=True)
    recipe = Recipe(name="x", output=str(tmp_path))
    with pytest.raises(KeyboardInterrupt), boundary(recipe):
        raise KeyboardInterrupt
    assert capsys.readouterr().err == (
        f"\nstopped. The last good state is {tmp_path}/sft/checkpoint-9. The same command goes on from"
        " there; --fresh begins anew.\n"
    )


def test_a_full_disk_is_a_failure_with_what_is_kept() -> None:
    told = r"the disk is full \(here\). The same command"
    with pytest.raises(WorldFailure, match=told), boundary(RECIPE):
        raise OSError(errno.ENOSPC, "No space left on device", "here")
    with pytest.raises(WorldFailure, match=r"'here': no. The same command"), boundary(RECIPE):
        raise PermissionError(errno.EACCES, "no", "here")
    with pytest.raises(OSError, match="nowhere"), boundary(RECIPE):
        raise OSError("nowhere")


def test_a_full_gpu_says_what_to_lower() -> None:
    with pytest.raises(UsageError, match="Lower `micro_batch_size`"), boundary(RECIPE):
        raise torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(RuntimeError, match="another"), boundary(RECIPE):
        raise RuntimeError("another")


def test_only_packages_of_the_extra_are_asked_for() -> None:
    with pytest.raises(UsageError, match=r"pip install 'agentworld-sim\[train\]'"), boundary():
        raise ModuleNotFoundError("No module named 'trl.x'", name="trl.x")
    with pytest.raises(ModuleNotFoundError), boundary():
        raise ModuleNotFoundError("No module named 'mine'", name="mine")
