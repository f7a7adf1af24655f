"""Killed, out of disk, or out of numbers: the last good state stays, and training is taken up from it."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState

from agentworld_sim.errors import UsageError
from agentworld_trainers.gspo_trainer import GspoTrainer
from agentworld_trainers.recipes.schema import Gspo
from agentworld_trainers.stages._checkpoints import checkpoints, keep_last, last_checkpoint
from agentworld_trainers.training_errors import CheckpointFailed, TrainingDiverged
from tests.trainers.gspo import tiny

SHORT = Gspo(
    steps=1, group_size=4, groups_per_step=2, mini_batches=2, micro_batch_size=2, save_every=1
)  # fmt: skip
REPOSITORY = Path(__file__).resolve().parents[3]


def weights(trainer: GspoTrainer) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in trainer.policy.state_dict().items()}


def assert_equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> None:
    assert first.keys() == second.keys()
    assert [name for name in first if not torch.equal(first[name], second[name])] == []


class StopsAfter(TrainerCallback):
    """Ends a training in the middle, as an interrupt would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(
        self, args: Any, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.global_step == self.step:
            raise KeyboardInterrupt


def one_checkpoint(folder: Path) -> Path:
    """Of a short training."""
    tiny.trainer(folder, part=SHORT).train()
    return folder / "checkpoint-1"


@contextmanager
def files_of_at_most(size: int) -> Generator[None]:
    """A disk on which no file gets longer than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
def test_after_kills_the_final_weights_are_those_of_an_undisturbed_training() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.trainers.gspo.kills", "2"],
        cwd=REPOSITORY,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["equal"], report
    assert report["kills"] == 2


@pytest.mark.parametrize("lora", [False, True])
def test_an_interrupt_within_a_rollout_batch_is_taken_up_within_it(
    tmp_path: Path, lora: bool
) -> None:
    def settings() -> dict[str, Any]:
        return {"peft_config": LoraConfig(r=2, target_modules=["q_proj", "v_proj"])} if lora else {}

    whole = tiny.trainer(tmp_path / "whole", **settings())
    whole.train()
    broken = tiny.trainer(tmp_path / "broken", callbacks=[StopsAfter(4)], **settings())
    with pytest.raises(KeyboardInterrupt):
        broken.train()
    # Step 4 ended a rollout batch and its checkpoint was not written: 3 is in the middle of one.
    last = last_checkpoint(tmp_path / "broken")
    assert last is not None and last.name == "checkpoint-3"
    resumed = tiny.trainer(tmp_path / "broken", **settings())
    resumed.train(resume_from_checkpoint=str(last))
    assert_equal(weights(resumed), weights(whole))


def test_a_training_that_ended_within_a_rollout_batch_does_not_go_on(tmp_path: Path) -> None:
    part = SHORT.model_copy(update={"steps": 3, "learning_rate": 1e-2})
    whole = tiny.trainer(tmp_path, part=part)
    whole.train()
    # As after a kill between the last checkpoint and what follows the training.
    again = tiny.trainer(tmp_path, part=part)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert again.state.global_step == 3
    assert_equal(weights(again), weights(whole))


def test_a_full_disk_leaves_the_last_good_checkpoint_and_says_so(tmp_path: Path) -> None:
    whole = tiny.trainer(tmp_path / "whole")
    whole.train()

    class FillsTheDisk(TrainerCallback):
        def on_save(self, *args: Any, **kwargs: Any) -> None:
            # From the first checkpoint on, the optimiser's state no longer fits.
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))

    broken = tiny.trainer(tmp_path / "broken", callbacks=[FillsTheDisk()])
    with files_of_at_most(resource.RLIM_INFINITY), pytest.raises(CheckpointFailed) as error:
        broken.train()
    folder = tmp_path / "broken"
    assert re.fullmatch(
        f"'{folder}/checkpoint-2' could not be written: .*"
        f" The last good one is '{folder}/checkpoint-1': make room and resume from it.",
        str(error.value),
        re.DOTALL,
    )
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint-1"]

    resumed = tiny.trainer(folder)
    resumed.train(resume_from_checkpoint=str(folder / "checkpoint-1"))
    assert_equal(weights(resumed), weights(whole))


def test_a_loss_that_is_no_number_stops_before_the_weights_change(tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path)
    inner: Any = trainer
    before: list[dict[str, Tensor]] = []

    class Breaks(TrainerCallback):
        def on_step_begin(self, args: Any, state: TrainerState, *rest: Any, **more: Any) -> None:
            if state.global_step == 3:
                for rows in inner._buffered_inputs:
                    rows["advantages"] = rows["advantages"] * torch.nan
                before.append(weights(trainer))

    trainer.add_callback(Breaks())
    with pytest.raises(TrainingDiverged) as error:
        trainer.train()
    assert str(error.value).startswith(
        "the loss of step 4 is nan, at a learning rate of 0.01. The weights were not changed by it. The last"
        f" good checkpoint is '{tmp_path}/checkpoint-3': training can be taken up from there."
    )
    assert_equal(weights(trainer), before[0])


def test_a_gradient_that_is_no_number_stops_before_the_weights_change(tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path)
    before = weights(trainer)
    weight = next(trainer.policy.parameters())
    weight.register_hook(lambda gradient: gradient / 0)
    with pytest.raises(TrainingDiverged, match="the length of the gradient of step 1 is"):
        trainer.train()
    assert_equal(weights(trainer), before)


def test_a_checkpoint_of_other_sizes_is_refused(tmp_path: Path) -> None:
    last = one_checkpoint(tmp_path)
    other = tiny.trainer(tmp_path, part=SHORT.model_copy(update={"micro_batch_size": 1}))
    with pytest.raises(
        UsageError, match="4 micro-batches per rollout batch, and these settings make 8"
    ):
        other.train(resume_from_checkpoint=str(last))


def test_a_checkpoint_of_another_architecture_is_refused(tmp_path: Path) -> None:
    last = one_checkpoint(tmp_path)
    config = json.loads((last / "config.json").read_text())
    (last / "config.json").write_text(json.dumps({**config, "model_type": "qwen3"}))
    with pytest.raises(UsageError, match="another architecture: a 'qwen3', and the model is a"):
        tiny.trainer(tmp_path, part=SHORT).train(resume_from_checkpoint=str(last))


def test_a_checkpoint_without_a_rollout_batch_is_refused(tmp_path: Path) -> None:
    last = one_checkpoint(tmp_path)
    (last / "gspo_state.pt").unlink()
    with pytest.raises(UsageError, match=r"is no checkpoint of this training .* no gspo_state.pt"):
        tiny.trainer(tmp_path, part=SHORT).train(resume_from_checkpoint=str(last))


def test_only_whole_checkpoints_are_found_and_the_last_are_kept(tmp_path: Path) -> None:
    for name in ("checkpoint-9", "checkpoint-10", "checkpoint-2", "checkpoint-11.partial", "final"):
        (tmp_path / name).mkdir()
    assert [path.name for path in checkpoints(tmp_path)] == [
        "checkpoint-2",
        "checkpoint-9",
        "checkpoint-10",
    ]
    keep_last(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint-10",
        "checkpoint-9",
        "final",
    ]
    assert last_checkpoint(tmp_path / "nothing") is None
