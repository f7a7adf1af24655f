"""Agent GSPO from end to end: real worlds, a real TRL trainer, a Mixture of Experts made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import RolloutRecord, Task, WorldTask, read_rollouts
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, train_agent
from agentworld_trainers.stages._gspo_stages import agent_tasks_of, success
from agentworld_trainers.stages._reinforcement import Play
from tests.trainers.agent.tiny import recipe
from tests.trainers.command.own import scenario

OWN = {"reward": {"function": "tests.trainers.agent.tiny:words_of_reward"}}


def weights(made: Recipe) -> dict[str, torch.Tensor]:
    return load_file(Path(made.output) / "agent" / "final" / "model.safetensors")


def metrics(made: Recipe) -> list[dict[str, Any]]:
    with Run(made).stage("agent") as stage:
        return stage.metrics()


def test_rollouts_are_rewarded_by_goals_and_held_out_success_is_measured(tmp_path: Path) -> None:
    made = recipe(tmp_path, measure_every=2)
    assert train_agent(made, Run(made)) == tmp_path / "agent" / "final"
    measured = {line["step"]: line for line in metrics(made) if "held_out/success" in line}
    assert list(measured) == [0, 2, 4]
    # A model that has learned nothing solves nothing.
    assert measured[4]["held_out/success"] == 0.0
    assert {"held_out/instances", "held_out/templates", "held_out/failed"} <= measured[0].keys()
    records = list(read_rollouts(tmp_path / "agent" / "rollouts" / "step-000000.jsonl"))
    assert len(records) == 8
    assert {record.reward for record in records} == {0.0}
    assert all(set(record.reward_parts.values()) <= {0.0, 1.0} for record in records)


def test_it_goes_on_from_its_checkpoint_as_if_it_had_not_been_stopped(tmp_path: Path) -> None:
    whole = recipe(tmp_path / "whole", **OWN)
    train_agent(whole, Run(whole))
    lines = [line for line in metrics(whole) if "reward_std" in line]
    assert all(line["reward_std"] > 0 for line in lines)
    # What a kill after the third step leaves: the checkpoint of the second, and later metrics.
    parts = recipe(tmp_path / "parts", **OWN)
    train_agent(parts, Run(parts))
    folder = tmp_path / "parts" / "agent"
    for gone in ("final", "checkpoint-4"):
        (folder / gone).rename(folder / f"{gone}.lost")
    train_agent(parts, Run(parts))
    expected = weights(whole)
    for name, value in weights(parts).items():
        assert torch.equal(value, expected[name]), name
    assert [line["step"] for line in metrics(parts)] == [line["step"] for line in metrics(whole)]


def test_a_reward_function_that_fails_ends_the_run_with_its_own_words(tmp_path: Path) -> None:
    made = recipe(tmp_path, reward={"function": "tests.trainers.agent.tiny:broken"})
    with pytest.raises(
        UsageError, match=r"failed on a world of the scenario .*KeyError: 'missing'"
    ):
        train_agent(made, Run(made))


def test_a_group_of_which_every_rollout_failed_has_no_success_rather_than_none_of_it() -> None:
    groups = {"instances": (WorldTask(scenario(0)),), "templates": (WorldTask(scenario(1)),)}

    def played(rewards: Sequence[float | None]) -> Play:
        def play(tasks: Sequence[Task], temperature: float) -> list[RolloutRecord]:
            return [
                RolloutRecord(
                    task=task.name, group=f"0/{task.name}", index=0, seed=0, prompt_ids=(1,),
                    response_ids=(), loss_mask=(), logprobs=(), turn_spans=(), reward=reward,
                    reward_parts={}, stop_reason="env_error" if reward is None else "done",
                )
                for task, reward in zip(tasks, rewards, strict=True)
            ]  # fmt: skip

        return play

    assert success(groups, played([1.0, None]), 0.0) == {
        "success": 1.0,
        "instances": 1.0,
        "failed": 1,
    }
    assert success(groups, played([None, None]), 0.0) == {"failed": 2}
    assert success({}, played([]), 0.0) == {}


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ({"tasks": ""}, "the recipe names no tasks. Set `agent.tasks`"),
        (
            {"tasks": "tests.trainers.agent.tiny:of_another_kind"},
            "returned 'list'. It must return `agentworld_sim.rollouts.AgentTasks`",
        ),
        (
            {"tasks": "tests.trainers.agent.tiny:of_other_kind"},
            "task function .* does not exist: .*Did you mean 'of_another_kind'",
        ),
        (
            {"reward": {"judge": {"url": "http://127.0.0.1:1/v1"}}},
            "an agent is rewarded for the state that it leaves",
        ),
        (
            {"reward": {"function": "tests.trainers.agent.tiny:of_another_kind"}},
            r"is called as of_another_kind\(world\), which its signature",
        ),
    ],
)
def test_what_cannot_be_used_is_told_before_anything_is_played(
    tmp_path: Path, agent: dict[str, Any], message: str
) -> None:
    made = recipe(tmp_path, **agent)
    assert made.agent is not None
    with pytest.raises(UsageError, match=message):
        agent_tasks_of(made.agent, 0)
    assert not (tmp_path / "agent").exists()
