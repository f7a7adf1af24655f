"""LWM RL from end to end: a real TRL trainer, a Mixture of Experts made on the spot, real HTTP judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentworld_sim.errors import ModelFailure, UsageError
from agentworld_sim.llm.scripted import Disconnect, ModelRequest, ScriptedModelServer
from agentworld_sim.rollouts import PolicyDrifted, RolloutFailed, RolloutRecord, read_rollouts
from agentworld_sim.scoring import FULL, PredictionSample
from agentworld_trainers.data import write_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, train_rl
from agentworld_trainers.stages._gspo_stages import accuracy
from tests.scoring.samples import rated, verdict
from tests.trainers.rl.coins import broken_after, coin, recipe, taught
from tests.trainers.rl.policy_server import PolicyServer, served


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return taught(tmp_path_factory.mktemp("taught"))


def trained(made: Recipe) -> list[dict[str, Any]]:
    run = Run(made)
    assert train_rl(made, run) == run.folder / "rl" / "final"
    with run.stage("rl") as stage:
        return stage.metrics()


def weights(made: Recipe) -> dict[str, torch.Tensor]:
    return load_file(Path(made.output) / "rl" / "final" / "model.safetensors")


def test_it_learns_what_the_environment_says(start: Path, tmp_path: Path) -> None:
    lines = trained(recipe(start, tmp_path, steps=12, groups_per_step=6))
    assert (lines[0]["step"], lines[0]["held_out/exact"]) == (0, 0.0)
    assert lines[0]["held_out/form"] == 1.0
    assert (lines[-1]["step"], lines[-1]["held_out/exact"]) == (12, 1.0)
    rewards = [line["reward"] for line in lines if "reward" in line]
    assert rewards[-1] > rewards[0] + 3.0
    rollouts = sorted((tmp_path / "rl" / "rollouts").iterdir())
    assert [one.name for one in rollouts] == [f"step-{n:06}.jsonl" for n in range(0, 12, 2)]
    records = list(read_rollouts(rollouts[0]))
    assert len(records) == 48
    assert {record.reward for record in records} == {0.0, FULL}
    assert all(len(record.turn_spans) == 1 for record in records)
    assert all("heads" not in record.messages[1]["content"] for record in records)


def test_a_failure_of_the_server_is_no_wrong_prediction() -> None:
    def played(reward: float | None, **parts: float) -> RolloutRecord:
        return RolloutRecord(
            task="coin", group="0/coin", index=0, seed=0, prompt_ids=(1,), response_ids=(),
            loss_mask=(), logprobs=(), turn_spans=(), reward=reward, reward_parts=parts,
            stop_reason="env_error" if reward is None else "done",
        )  # fmt: skip

    right, wrong = played(FULL, exact=1.0, form=1.0), played(0.0, exact=0.0, form=1.0)
    assert accuracy([right, played(None), wrong]) == {"exact": 0.5, "form": 1.0}
    assert accuracy([played(None)]) == {}


def test_it_goes_on_after_a_failure_as_if_there_had_been_none(start: Path, tmp_path: Path) -> None:
    own = {"reward": {"function": "tests.trainers.rl.coins:reward"}, "save_every": 1}
    whole = recipe(start, tmp_path / "whole", **own)
    trained(whole)
    broken = recipe(start, tmp_path / "broken", **own)
    with broken_after(30), pytest.raises(UsageError, match="licence has run out"):
        train_rl(broken, Run(broken))
    folder = tmp_path / "broken" / "rl"
    assert (folder / "checkpoint-2").is_dir()
    assert not (folder / "final").exists()
    lines = trained(broken)
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4, 4]
    expected = weights(whole)
    assert expected.keys() == weights(broken).keys()
    for name, value in weights(broken).items():
        assert torch.equal(value, expected[name]), name


def test_a_finished_stage_is_left_as_it_is(start: Path, tmp_path: Path) -> None:
    made = recipe(start, tmp_path, steps=2)
    trained(made)
    before = weights(made)
    lines = trained(made)
    assert [line["step"] for line in lines] == [0, 1, 2, 2]
    assert all(torch.equal(value, before[name]) for name, value in weights(made).items())


def test_a_judge_rates_what_is_not_exact(start: Path, tmp_path: Path) -> None:
    with ScriptedModelServer(lambda _: verdict(2), model="judge") as server:
        made = recipe(
            start, tmp_path, steps=2, reward={"judge": {"url": server.url, "weight": 0.9}}
        )
        lines = trained(made)
        texts = {rated(request) for request in server.requests}
    assert {"heads", "tails"} <= texts
    # Answers without form never reach the judge.
    assert 7.0 < lines[1]["reward/rubric"] <= 10.0
    assert lines[1]["reward"] == pytest.approx(
        0.9 * lines[1]["reward/rubric"] + 0.1 * FULL * lines[1]["reward/exact"]
    )


def test_a_judge_that_dies_in_mid_rollout_stops_at_the_last_good_state(
    start: Path, tmp_path: Path
) -> None:
    def judge(request: ModelRequest) -> str | Disconnect:
        dead = (tmp_path / "rl" / "checkpoint-2").exists()
        return Disconnect() if dead else verdict(2)

    with ScriptedModelServer(judge, model="judge") as server:
        made = recipe(
            start,
            tmp_path,
            reward={"judge": {"url": server.url}},
            rollouts={"max_turn_tokens": 16, "max_rollout_tokens": 128, "in_flight": 8},
        )
        with pytest.raises(RolloutFailed) as caught:
            train_rl(made, Run(made))
    assert "checkpoint-2" in str(caught.value)
    assert (tmp_path / "rl" / "checkpoint-2").is_dir()
    assert not (tmp_path / "rl" / "final").exists()
    records = list(read_rollouts(tmp_path / "rl" / "rollouts" / "step-000002.jsonl"))
    assert {record.reward for record in records if record.stop_reason == "env_error"} == {None}


def test_a_judge_that_is_not_there_is_told_before_anything_is_played(
    start: Path, tmp_path: Path
) -> None:
    with ScriptedModelServer([], model="judge") as server:
        wrong = {"judge": {"url": server.url, "model": "another"}}
        made = recipe(start, tmp_path, reward=wrong)
        with pytest.raises(ModelFailure, match="another"):
            train_rl(made, Run(made))
    assert not (tmp_path / "rl" / "rollouts").exists()


@pytest.mark.parametrize(
    ("rl", "words"),
    [
        ({"reward": {"function": "tests.trainers.rl.coins:rewart"}}, "Did you mean 'reward'"),
        (
            {"reward": {"function": "a:b", "judge": {"url": "http://127.0.0.1:1/v1"}}},
            "Leave one of them out",
        ),
        (
            {"reward": {"judge": {"url": "http://127.0.0.1:1/v1", "prompts": "gone"}}},
            "no folder of judge prompts at 'gone'",
        ),
        ({"rollouts": {"max_rollout_tokens": 4}}, "not one task"),
    ],
)
def test_what_cannot_be_trained_is_told(
    start: Path, tmp_path: Path, rl: dict[str, Any], words: str
) -> None:
    made = recipe(start, tmp_path, **rl)
    with pytest.raises(UsageError) as caught:
        train_rl(made, Run(made))
    assert words in str(caught.value)


def test_a_recipe_without_the_stage_is_told(tmp_path: Path) -> None:
    made = Recipe.model_validate({"name": "none", "output": str(tmp_path)})
    with pytest.raises(UsageError, match=r"no table \[rl\]"):
        train_rl(made, Run(made))


def test_other_data_are_not_trained_on_from_the_middle(start: Path, tmp_path: Path) -> None:
    made = recipe(start, tmp_path, reward={"function": "tests.trainers.rl.coins:reward"})
    with broken_after(24), pytest.raises(UsageError, match="licence"):
        train_rl(made, Run(made))
    assert (tmp_path / "rl" / "checkpoint-2").is_dir()
    rows: list[PredictionSample] = [coin(number, "tails") for number in range(4)]
    write_rows(tmp_path / "data" / "rl.jsonl", rows)
    with pytest.raises(UsageError, match="another data"):
        train_rl(made, Run(made))


def over_http(server: PolicyServer, **rollouts: Any) -> dict[str, Any]:
    return {
        "rollouts": {
            "policy": "http",
            "url": server.url,
            "max_turn_tokens": 16,
            "max_rollout_tokens": 128,
            "in_flight": 8,
            **rollouts,
        }
    }


def test_a_server_plays_with_the_weights_that_are_brought_to_it(
    start: Path, tmp_path: Path
) -> None:
    with served(start) as server:
        sync = {"sync": "tests.trainers.rl.policy_server:bring"}
        lines = trained(recipe(start, tmp_path, **over_http(server, **sync)))
    # Before the steps 0 and 2, and for the measurement after the last.
    assert server.loads == 1 + 3
    assert server.completions == 2 * 24 + 2 * 3
    assert all(line["mismatch/mean"] < 1e-4 for line in lines if "mismatch/mean" in line)


@pytest.mark.parametrize("sync", ["", "tests.trainers.rl.policy_server:bring_nothing"])
def test_a_server_with_old_weights_stops_at_the_last_good_state(
    start: Path, tmp_path: Path, sync: str
) -> None:
    with served(start) as server:
        made = recipe(start, tmp_path, learning_rate=3e-2, **over_http(server, sync=sync))
        with pytest.raises(PolicyDrifted, match="checkpoint"):
            train_rl(made, Run(made))
    assert (tmp_path / "rl" / "checkpoint-2").is_dir()
    assert server.completions == 24 + 3


def test_a_policy_server_that_dies_in_mid_rollout_loses_nothing(
    start: Path, tmp_path: Path
) -> None:
    with served(start) as server:
        sync = {"sync": "tests.trainers.rl.policy_server:bring"}
        made = recipe(start, tmp_path, **over_http(server, **sync))
        server.dies_after = 3 + 24 + 5
        with pytest.raises(RolloutFailed) as caught:
            train_rl(made, Run(made))
        assert str(tmp_path / "rl" / "checkpoint-2") in str(caught.value)
        assert server.url in str(caught.value)
        server.dies_after = None
        lines = trained(made)
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4, 4]


def test_adapters_are_trained_in_bfloat16_and_merged(start: Path, tmp_path: Path) -> None:
    plain = recipe(start, tmp_path, steps=2).model_dump()
    plain["model"] |= {"dtype": "bfloat16", "lora": {"rank": 4}}
    made = Recipe.model_validate(plain)
    lines = trained(made)
    assert (tmp_path / "rl" / "final" / "adapter").is_dir()
    before = load_file(start / "model.safetensors")
    assert before.keys() == weights(made).keys()
    assert any(not torch.equal(value, before[name]) for name, value in weights(made).items())
    assert lines[1]["mismatch/left_out"] == 0.0
