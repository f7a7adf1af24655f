"""Checkpoints that something happened to, after they were written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agentworld_trainers.stages import Run, train_sft
from agentworld_trainers.stages._checkpoints import sound_checkpoint
from agentworld_trainers.training_errors import CheckpointDamaged
from tests.trainers.stages import tiny

SFT = {"steps": 3, "batch_size": 2, "save_every": 1, "log_every": 1, "threads": 1}
Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    recipe = tiny.recipe(folder, sft=SFT)
    train_sft(recipe, Run(recipe))
    return folder


@pytest.fixture
def stage(finished: Path, tmp_path: Path) -> Path:
    """What is left of a stage that was killed before its end: checkpoints of the steps 2 and 3."""
    shutil.copytree(finished, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "sft" / "final")
    return tmp_path / "run" / "sft"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("name", "damage", "told"),
    [
        ("optimizer.pt", cut, "'optimizer.pt' cannot be read (File is not a zip file)"),
        ("scheduler.pt", cut, "'scheduler.pt' cannot be read"),
        ("rng_state.pth", cut, "'rng_state.pth' cannot be read"),
        ("trainer_state.json", cut, "'trainer_state.json' cannot be read ("),
        ("config.json", cut, "'config.json' cannot be read ("),
        ("model.safetensors", cut, "'model.safetensors' cannot be read ("),
        ("model.safetensors", lambda path: path.write_bytes(b""), "'model.safetensors' cannot be"),
        (
            "model.safetensors",
            lambda path: path.write_bytes(b"x" * 99),
            "'model.safetensors' cannot be",
        ),
        ("model.safetensors", Path.unlink, "it has no 'model.safetensors'"),
        ("optimizer.pt", Path.unlink, "it has no 'optimizer.pt'"),
    ],
)
def test_damage_is_named_with_the_last_good_state(
    stage: Path, name: str, damage: Damage, told: str
) -> None:
    assert sound_checkpoint(stage) == stage / "checkpoint-3"
    damage(stage / "checkpoint-3" / name)
    with pytest.raises(CheckpointDamaged) as caught:
        sound_checkpoint(stage)
    said = str(caught.value)
    assert said.startswith(f"the checkpoint '{stage}/checkpoint-3' is damaged: ") and told in said
    assert said.endswith(
        "Remove it (checkpoint-3): the same command then goes on from the last good state,"
        f" '{stage}/checkpoint-2'."
    )


def test_when_no_checkpoint_is_good_that_is_said(stage: Path) -> None:
    for number in (2, 3):
        cut(stage / f"checkpoint-{number}" / "optimizer.pt")
    with pytest.raises(CheckpointDamaged) as caught:
        sound_checkpoint(stage)
    assert str(caught.value).endswith(
        "Remove them (checkpoint-2, checkpoint-3): the same command then goes on from the beginning,"
        " since no checkpoint before it is good."
    )


def test_a_part_of_the_weights_that_is_missing_is_named(stage: Path) -> None:
    folder = stage / "checkpoint-3"
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    index = '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-2.safetensors"}}'
    (folder / "model.safetensors.index.json").write_text(index)
    with pytest.raises(CheckpointDamaged, match=r"is damaged: it has no 'model-2\.safetensors'"):
        sound_checkpoint(stage)


def test_a_stage_says_so_before_it_trains_and_goes_on_as_it_said(stage: Path) -> None:
    recipe = tiny.recipe(stage.parent, sft=SFT)
    cut(stage / "checkpoint-3" / "optimizer.pt")
    with pytest.raises(CheckpointDamaged, match="goes on from the last good state"):
        train_sft(recipe, Run(recipe))
    shutil.rmtree(stage / "checkpoint-3")
    assert train_sft(recipe, Run(recipe)) == stage / "final"
