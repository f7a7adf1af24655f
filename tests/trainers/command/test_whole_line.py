"""Every stage of a recipe, by one command; and a command that is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentworld_sim.cli import main
from agentworld_sim.rollouts import read_rollouts
from agentworld_trainers.stages._models import load_model, new_model, save_model
from tests.trainers.stages import tiny

RECIPE = """\
name = "own"
output = "{output}"

[data]
source = "tests.trainers.command.own:trajectories"
settings = {{count = 6}}
prompts = "{prompts}"
tokenizer = "tests.trainers.command.own:tokenizer"
tokenizer_settings = {{template = "qwen3"}}

[cpt]
steps = 2
batch_size = 2
max_tokens = 2048
log_every = 1

[sft]
steps = 2
batch_size = 2
max_tokens = 2048
log_every = 1

[rl]
steps = 2
group_size = 2
groups_per_step = 2
mini_batches = 2
log_every = 1
rollouts = {{max_turns = 1, max_turn_tokens = 12, max_rollout_tokens = 2048}}
reward = {{function = "tests.trainers.command.own:reward"}}

[agent]
tasks = "tests.trainers.command.own:tasks"
steps = 2
group_size = 2
groups_per_step = 2
mini_batches = 2
log_every = 1
rollouts = {{max_turns = 1, max_turn_tokens = 4, max_rollout_tokens = 8192}}
reward = {{function = "tests.trainers.command.own:agent_reward"}}

[model]
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    config = ", ".join(f"{key} = {json.dumps(value)}" for key, value in tiny.CONFIG.items())
    path = tmp_path / "own.toml"
    # The shipped prompt has thousands of tokens for a tokenizer that knows bytes.
    (tmp_path / "prompts" / "swe").mkdir(parents=True)
    (tmp_path / "prompts" / "swe" / "system_prompt.txt").write_text("You are a shell.")
    text = RECIPE.format(output=tmp_path / "run", prompts=tmp_path / "prompts")
    path.write_text(f"{text}config = {{{config}}}\n")
    return path


def train(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["train", *arguments])
    return int(ended.value.code or 0)


def test_all_stages_of_a_recipe_run_by_one_command_on_what_a_user_brings(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("all", str(recipe)) == 0
    run = tmp_path / "run"
    for name in ("cpt", "sft", "rl", "agent"):
        assert (run / name / "final" / "config.json").exists()
        assert (run / name / "curves.png").exists()
    for name, tasks in (("rl", 5), ("agent", 2)):
        (file,) = (run / name / "rollouts").iterdir()
        records = list(read_rollouts(file))
        assert len(records) == 4
        assert len({record.task for record in records}) <= tasks
    capsys.readouterr()
    assert train("show", str(run)) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == ["data:", "cpt", "sft", "rl", "agent"]
    assert out.count("finished") == 4 and out.count("4 rollouts") == 2
    assert train("eval", str(run / "rl" / "final"), "--limit", "2") == 0
    # Another time there is nothing left to do.
    assert train("all", str(recipe)) == 0
    assert capsys.readouterr().err.count("is finished already") == 4


SMALLER = """
data.source=tests.trainers.command.own:trajectories data.settings={count=6}
cpt.steps=1 cpt.batch_size=2 cpt.micro_batch_size=1 cpt.max_tokens=2048
sft.steps=1 sft.batch_size=2 sft.micro_batch_size=1 sft.max_tokens=2048
rl.steps=2 rl.group_size=2 rl.groups_per_step=2 rl.mini_batches=2 rl.micro_batch_size=1
rl.rollouts.max_turn_tokens=12 rl.rollouts.max_rollout_tokens=2048
rl.reward.function=tests.trainers.command.own:reward
"""


@pytest.mark.slow
def test_the_recipe_for_one_gpu_runs_on_a_model_made_on_the_spot(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tiny.tokenizer()
    model = new_model(tiny.CONFIG, made, seed=0)
    save_model(model, made, tmp_path / "model")
    prompts = f"data.prompts={tmp_path / 'prompts'}"
    changes = [*SMALLER.split(), prompts, f"model.path={tmp_path / 'model'}", "model.config="]
    assert train("all", "one-gpu", *changes, "--output", str(tmp_path / "run")) == 0
    for name in ("cpt", "sft", "rl"):
        assert (tmp_path / "run" / name / "final" / "adapter").is_dir()
    # Adapters are merged, so that the next stage and a server find whole weights.
    assert type(load_model(tmp_path / "run" / "rl" / "final")) is type(model)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on(recipe: Path, tmp_path: Path) -> None:
    arguments = ["data", str(recipe), "data.source=tests.trainers.command.own:endless"]
    code = "import sys; from agentworld_sim.cli import main; main(['train', *sys.argv[1:]])"
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=Path(__file__).parents[3],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout and process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "stopped. The same command goes on from there; --fresh begins anew."
