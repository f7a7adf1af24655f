"""What goes wrong for a clumsy user: one message, the right exit code, and nothing lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.cli import main
from agentworld_trainers.data import write_rows
from agentworld_trainers.recipes import canonical_toml
from agentworld_trainers.stages import _training
from tests.trainers.stages import tiny

Command = Callable[..., tuple[int, str]]
KEY = "sk-not-to-be-seen"
STEP: dict[str, Any] = {"steps": 2, "batch_size": 2, "log_every": 1, "save_every": 1}
PLAYED: dict[str, Any] = {
    "steps": 4,
    "group_size": 2,
    "groups_per_step": 1,
    "mini_batches": 1,
    "log_every": 1,
    "save_every": 1,
    "rollouts": {"max_turns": 1, "max_turn_tokens": 4, "max_rollout_tokens": 1024},
}


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `agentworld train …` in this process: exit code, and the last line that is said."""
    monkeypatch.setenv("AGENTWORLD_API_KEY", KEY)

    def run(*arguments: str | Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["train", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert KEY not in out + err
        return int(ended.value.code or 0), (out + err).rstrip().rpartition("\n")[2]

    return run


def recipe(folder: Path, **parts: Any) -> Path:
    """A recipe of a tiny model, with its data."""
    made = tiny.recipe(folder / "run", **parts)
    path = folder / "tiny.toml"
    path.write_text(canonical_toml(made))
    return path


def source(folder: Path, text: str) -> Path:
    """A recipe whose data come from a module of the user's own, in the current folder."""
    (folder / "clumsy.py").write_text(text)
    path = folder / "clumsy.toml"
    path.write_text('name = "clumsy"\n[data]\nsource = "clumsy:make"\n')
    return path


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import sys\nsys.exit(3)\n", "cannot be imported: clumsy.py, line 2: SystemExit: 3"),
        ("1 / 0\n", "cannot be imported: clumsy.py, line 1: ZeroDivisionError"),
        ("def make(settings, seed): raise KeyError('a')\n", "clumsy.py, line 1: KeyError: 'a'"),
        ("def make(settings, seed): return [1]\n", "gave int as number 1"),
        ("def make(settings, seed): return 1\n", "returned int, and must return trajectories"),
        ("def make(settings): return []\n", "is called as make(settings, seed)"),
        ("def made(settings, seed): return []\n", "has no 'make'. Did you mean 'made'?"),
    ],
)
def test_a_source_that_breaks_is_one_message(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "clumsy", raising=False)
    code, said = command("data", source(tmp_path, text))
    assert code == 2 and said.startswith("agentworld: the data source 'clumsy:make'")
    assert told in said
    sys.modules.pop("clumsy", None)


def test_an_output_that_cannot_be_written_is_told(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, said = command("sft", recipe(tmp_path, sft=STEP), "--output", tmp_path / "file" / "run")
    assert code == 2 and "nothing can be written" in said and "Not a directory" in said


def test_a_folder_is_no_recipe_unless_it_holds_one(command: Command, tmp_path: Path) -> None:
    path = recipe(tmp_path, sft=STEP)
    (tmp_path / "run" / "sft").mkdir()
    path.rename(tmp_path / "run" / "sft" / "recipe.toml")
    code, said = command("sft", tmp_path / "run")
    assert code == 2
    assert f"holds no 'recipe.toml'. The stages in it keep theirs: {tmp_path}/run/sft." in said
    (tmp_path / "mine.toml").touch()
    code, said = command("sft", tmp_path / "mime.toml")
    assert code == 2 and "no such file. Did you mean 'mine.toml'?" in said


@pytest.mark.filterwarnings("ignore::agentworld_trainers.gspo.PaperDeparture")
@pytest.mark.parametrize(
    ("stage", "change", "told"),
    [
        (
            "sft",
            'model.lora.targets=["q_proj", "v_porj"]',
            "has no linear layer 'v_porj'. Did you mean 'v_proj'? There are: k_proj, o_proj",
        ),
        (
            "sft",
            "model.lora.targets=[]",
            "`model.lora.targets` is empty. The model's linear layers a",
        ),
        ("sft", "model.path=RECIPE", "tiny.toml' is a file. Name the folder of a checkpoint."),
        ("sft", "model.tokenizer=FOLDER", "no tokenizer could be loaded from"),
        ("sft", "model.lora.rank=100000000000", "this machine's memory does not hold this. Lower"),
        ("sft", "sft.threads=100000", "found 100000; allowed: 1024 or less"),
        ("rl", "rl.group_size=1", "found 1; allowed: 2 or more"),
        ("rl", "rl.rollouts.policy=http", "and `rollouts.url` does not say where the policy is"),
        (
            "rl",
            'rl.rollouts={policy="http", url="http://127.0.0.1:1/v1", temperature=0.7}',
            "with a temperature of 0.7 the server's log-probabilities are not those",
        ),
    ],
)
def test_a_mistake_in_a_recipe_is_one_message_before_anything_is_trained(
    command: Command, tmp_path: Path, stage: str, change: str, told: str
) -> None:
    path = recipe(tmp_path, **{stage: STEP if stage == "sft" else PLAYED})
    write_rows(tmp_path / "run" / "data" / "rl.jsonl", [tiny.sample(1)])
    code, said = command(
        stage, path, change.replace("RECIPE", str(path)).replace("FOLDER", str(tmp_path))
    )
    assert (code, said.startswith("agentworld: "), told in said) == (2, True, True), said
    assert not list((tmp_path / "run").glob("*/checkpoint-*"))


def test_the_agent_does_not_come_before_what_it_stands_on(command: Command, tmp_path: Path) -> None:
    path = recipe(tmp_path, sft=STEP, agent={"tasks": "tests.trainers.command.own:tasks"})
    code, said = command("agent", path)
    assert code == 2
    assert "'agent' would begin with random weights: 'sft'" in said and "`sft=`" in said


def test_corrected_data_are_trained_on_without_beginning_anew(
    command: Command, tmp_path: Path
) -> None:
    path = recipe(tmp_path, sft=STEP)
    rows = tmp_path / "run" / "data" / "sft.jsonl"
    whole = rows.read_text()
    for text, told in (
        (whole[:-30], "line 20: not JSON"),
        ("", "has no row that can be trained on (it is empty"),
        (whole.replace('"observation"', '"observatoin"', 1), "no 'observatoin'. Did you mean"),
    ):
        rows.write_text(text)
        code, said = command("sft", path)
        assert code == 2 and told in said
    rows.write_text(whole)
    code, said = command("sft", path, "model.config.num_experts_per_tok=3")
    assert code == 0 and said.startswith("sft: done")
    # The next stage takes up what the last has left, and what is damaged is named.
    run = tmp_path / "run" / "sft"
    (run / "final").rename(tmp_path / "kept")
    weights = run / "checkpoint-2" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    code, said = command("sft", path, "model.config.num_experts_per_tok=3")
    assert code == 2 and "checkpoint-2' is damaged" in said and "Remove it" in said


def test_what_is_no_checkpoint_is_not_measured(command: Command, tmp_path: Path) -> None:
    recipe(tmp_path, sft=STEP)
    run = tmp_path / "run"
    assert command("eval", run) == (
        2,
        f"agentworld: {str(run)!r} is the folder of a run. Name a checkpoint in it: there is none yet.",
    )
    code, said = command("eval", run / "data")
    assert code == 2 and "is no checkpoint: it has no 'config.json'" in said
    (run / "sft" / "final").mkdir(parents=True)
    (run / "sft" / "final" / "config.json").write_text("{}")
    code, said = command("eval", run)
    assert code == 2 and f"Name a checkpoint in it: {run}/sft/final." in said
    code, said = command("eval", run / "sft")
    assert code == 2 and "In it are: final." in said
    (adapters := run / "sft" / "checkpoint-1").mkdir()
    (adapters / "adapter_config.json").write_text('{"base_model_name_or_path": null}')
    code, said = command("eval", adapters)
    assert code == 2 and "holds adapters only" in said and "`final`" in said
    (adapters / "adapter_config.json").write_text('{"base_model_name_or_path": "/gone/model"}')
    code, said = command("eval", adapters)
    assert code == 2 and "there is no folder '/gone/model'" in said
    (tmp_path / "file").touch()
    code, said = command("eval", adapters, "--out", tmp_path / "file" / "report.json")
    assert code == 2 and said.startswith("agentworld: --out: nothing can be written")


@pytest.mark.filterwarnings("ignore::agentworld_trainers.gspo.PaperDeparture")
def test_a_server_that_is_wrong_is_told_without_the_key(command: Command, tmp_path: Path) -> None:
    path = recipe(tmp_path, rl=PLAYED)
    write_rows(tmp_path / "run" / "data" / "rl.jsonl", [tiny.sample(number) for number in range(3)])
    for change, code, told in (
        ("rl.reward.judge.url=nowhere", 2, "nowhere"),
        ("rl.reward.judge.url=http://127.0.0.1:1/v1", 4, "http://127.0.0.1:1/v1"),
        ("rl.reward.function=math:fsum", 2, "which its signature"),
    ):
        found, said = command("rl", path, change)
        assert (found, told in said) == (code, True), said
    assert not list((tmp_path / "run" / "rl").glob("checkpoint-*"))
    for file in (tmp_path / "run").rglob("*.*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes()


@pytest.mark.filterwarnings("ignore::agentworld_trainers.gspo.PaperDeparture")
def test_one_sample_and_one_group_are_enough(command: Command, tmp_path: Path) -> None:
    path = recipe(tmp_path, rl={**PLAYED, "steps": 1})
    write_rows(tmp_path / "run" / "data" / "rl.jsonl", [tiny.sample(1)])
    write_rows(tmp_path / "run" / "data" / "eval.jsonl", [])
    code, said = command("rl", path)
    assert code == 0 and said.startswith("rl: done")
    write_rows(tmp_path / "run" / "data" / "rl.jsonl", [])
    code, said = command("rl", path, "--output", tmp_path / "run", "--fresh")
    assert code == 2 and "not one task to train on" in said
    assert command("eval", tmp_path / "run" / "rl.old-1" / "final") == (
        2,
        "agentworld: there are no samples to evaluate on.",
    )


@pytest.mark.filterwarnings("ignore::agentworld_trainers.gspo.PaperDeparture")
@pytest.mark.parametrize("stage", ["cpt", "sft", "rl", "agent"])
def test_ctrl_c_keeps_the_last_state_and_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    def stopped(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # In the middle of the second step.
        if state.global_step == 1:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_training.StageCallback, "on_step_begin", stopped)
    parts: dict[str, Any] = {"cpt": STEP, "sft": STEP, "rl": PLAYED, "agent": PLAYED}
    settings = dict(parts[stage])
    if stage == "agent":
        settings["tasks"] = "tests.trainers.command.own:tasks"
        settings["rollouts"] = {**settings["rollouts"], "max_rollout_tokens": 8192}
    path = recipe(tmp_path, **{stage: settings})
    write_rows(tmp_path / "run" / "data" / "rl.jsonl", [tiny.sample(number) for number in range(3)])
    with pytest.raises(SystemExit) as ended:
        main(["train", stage, str(path)])
    last = tmp_path / "run" / stage / "checkpoint-1"
    said = capsys.readouterr().err.rstrip()
    assert (ended.value.code, "Traceback" in said) == (130, False)
    assert said.endswith(
        f"stopped. The last good state is {last}. The same command goes on from there; --fresh begins"
        " anew."
    )
    with pytest.raises(SystemExit):
        main(["train", "show", str(tmp_path / "run")])
    assert "not finished, goes on from checkpoint-1" in capsys.readouterr().out


def test_without_the_extra_every_command_says_what_to_install(tmp_path: Path) -> None:
    path = recipe(tmp_path, sft=STEP)
    code = (
        "import json, sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('torch', 'transformers', 'trl'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from agentworld_sim.cli import main\n"
        "for arguments in json.loads(sys.argv[1]):\n"
        "    try: main(['train', *arguments])\n"
        "    except SystemExit as ended: print(ended.code)\n"
    )
    asked = [["sft", str(path)], ["all", str(path), "--dry-run"], ["eval", str(path)], ["recipes"]]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(asked)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[:3] == ["2", "2", "2"] and done.stdout.endswith("\n0\n")
    assert done.stderr.count("pip install 'agentworld-sim[train]'") == 3
    assert not (tmp_path / "run" / "sft").exists()
