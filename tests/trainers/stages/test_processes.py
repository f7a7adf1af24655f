"""How a stage may be started, and what is refused before it does anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentworld_sim.errors import UsageError
from agentworld_trainers.stages import Run, make_data, train_rl, train_sft
from agentworld_trainers.stages._processes import verify_processes
from tests.trainers.stages import tiny


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("WORLD_SIZE", "2")
    return monkeypatch


@pytest.mark.parametrize(
    ("variable", "name"), [("ACCELERATE_USE_FSDP", "FSDP"), ("ACCELERATE_USE_DEEPSPEED", "DeepS")]
)
def test_weights_that_are_spread_over_processes_are_refused_before_anything_is_made(
    tmp_path: Path, two: pytest.MonkeyPatch, variable: str, name: str
) -> None:
    two.setenv(variable, "true")
    recipe = tiny.recipe(tmp_path, sft={"steps": 1}, rl={"steps": 1})
    for train, stage in ((train_sft, "sft"), (train_rl, "rl")):
        with pytest.raises(UsageError) as caught:
            train(recipe, Run(recipe))
        said = str(caught.value)
        assert f"the stage '{stage}' was started with {name}" in said
        assert "one process, or several with a whole copy each: `accelerate launch" in said
        assert not (tmp_path / stage).exists()


def test_a_served_policy_takes_one_process(tmp_path: Path, two: pytest.MonkeyPatch) -> None:
    served: Any = {"policy": "http", "url": "http://127.0.0.1:1/v1"}
    recipe = tiny.recipe(tmp_path, rl={"steps": 1, "rollouts": served})
    with pytest.raises(UsageError, match=r"2 processes, .* one process, or `rollouts.policy=in-p"):
        train_rl(recipe, Run(recipe))
    verify_processes("rl")


def test_one_process_with_several_gpus_is_told_how_to_choose() -> None:
    with pytest.raises(UsageError, match=r"8 GPUs are visible .* `CUDA_VISIBLE_DEVICES=0`, or st"):
        verify_processes("sft", gpus=8)
    verify_processes("sft", gpus=1)


def test_what_two_processes_would_both_do_is_left_to_one(
    tmp_path: Path, two: pytest.MonkeyPatch
) -> None:
    recipe = tiny.recipe(tmp_path, sft={"steps": 1})
    with pytest.raises(UsageError, match="Run `agentworld train data RECIPE` by itself first"):
        make_data(recipe, Run(recipe))
    with pytest.raises(UsageError, match=r"2 were started\. Rename the stage's folder yourself"):
        train_sft(recipe, Run(recipe, fresh=True))


def test_a_process_that_is_not_the_first_says_nothing(
    tmp_path: Path, two: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two.setenv("RANK", "1")
    recipe = tiny.recipe(tmp_path, sft={"steps": 1})
    with Run(recipe).stage("sft") as stage, stage.progress(1) as told:
        told.step(1)
        told.say("something")
        stage.say("more")
    assert capsys.readouterr() == ("", "")
