"""The trainer: real training of a tiny model on rollouts made on the spot."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig
from torch import Tensor

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import RolloutFailed, RolloutRecord
from agentworld_trainers.gspo import PaperDeparture
from agentworld_trainers.gspo_trainer import GspoTrainer, gspo_config
from agentworld_trainers.gspo_trainer.batches import task_order
from agentworld_trainers.recipes.schema import AgentPart, Gspo
from tests.trainers.gspo import tiny


def weights(trainer: GspoTrainer) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in trainer.policy.state_dict().items()}


def unequal(first: dict[str, Tensor], second: dict[str, Tensor]) -> list[str]:
    return [name for name in first if not torch.equal(first[name], second[name])]


def part(**changes: Any) -> Gspo:
    fields: dict[str, Any] = {
        "steps": 2,
        "group_size": 4,
        "groups_per_step": 2,
        "mini_batches": 2,
        "micro_batch_size": 2,
        "learning_rate": 1e-2,
        "save_every": 100,
        "log_every": 1,
    }
    return Gspo(**{**fields, **changes})


def test_every_task_is_played_by_a_whole_group_in_an_order_that_can_be_prolonged() -> None:
    tasks = ["a", "b", "c"]
    order = task_order(tasks, 7, seed=3)
    assert sorted(order[:3]) == sorted(order[3:6]) == tasks
    assert task_order(tasks, 20, seed=3)[:7] == order
    assert task_order(tasks, 60, seed=4) != task_order(tasks, 60, seed=3)


def test_collect_gets_each_name_once_per_member_of_a_group_and_the_step(tmp_path: Path) -> None:
    asked: list[tuple[list[str], int]] = []
    policy = tiny.model()

    def collect(names: list[str], step: int) -> list[RolloutRecord]:
        asked.append((names, step))
        return [tiny.rollout(name, i % 4, step, policy) for i, name in enumerate(names)]

    config = gspo_config(part(steps=5), tmp_path)
    GspoTrainer(policy, tiny.tokenizer(), config, tiny.TASKS, collect).train()

    order = task_order(tiny.TASKS, 6, seed=0)
    groups = [[name for name in order[i : i + 2] for _ in range(4)] for i in (0, 2, 4)]
    assert asked == [(groups[0], 0), (groups[1], 2), (groups[2], 4)]


def test_training_makes_what_is_rewarded_more_likely(tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path, part=part(steps=2))
    before = tiny.model()
    trainer.train()
    records = [tiny.rollout(task_order(tiny.TASKS, 2, 0)[0], i, 0, before) for i in range(4)]
    gain = [
        sum(
            after - was
            for after, was, own in zip(
                tiny.logprobs(trainer.policy, r.prompt_ids, r.response_ids),
                tiny.logprobs(before, r.prompt_ids, r.response_ids),
                r.loss_mask,
                strict=True,
            )
            if own
        )
        / sum(r.loss_mask)
        for r in records
    ]
    rewards = [record.reward or 0.0 for record in records]
    assert gain[rewards.index(max(rewards))] > gain[rewards.index(min(rewards))]


def test_a_failed_rollout_changes_nothing_but_who_is_compared(tmp_path: Path) -> None:
    def failed(**tokens: Any) -> Any:
        def change(record: RolloutRecord) -> RolloutRecord:
            if record.index != 2:
                return record
            return tiny.changed(
                record, reward=None, stop_reason="env_error", error="the server went away", **tokens
            )

        return change

    nothing: dict[str, Any] = dict.fromkeys(
        ("prompt_ids", "response_ids", "loss_mask", "logprobs", "turn_spans"), ()
    )
    first = tiny.trainer(tmp_path / "a", part=part(), change=failed())
    second = tiny.trainer(tmp_path / "b", part=part(), change=failed(**nothing))
    first.train()
    second.train()
    assert unequal(weights(first), weights(second)) == []
    log = second.state.log_history[0]
    assert log["rollouts/failed"] == log["stop/env_error"] == 0.25
    assert log["groups/live"] == 1.0
    assert math.isfinite(log["reward"])


@pytest.mark.parametrize("lora", [False, True])
def test_positions_are_counted_from_the_first_token_however_rows_are_padded(
    tmp_path: Path, lora: bool
) -> None:
    adapters = LoraConfig(r=2, target_modules=["q_proj"]) if lora else None
    trainer = tiny.trainer(tmp_path, part=part(), peft_config=adapters)
    padded: list[bool] = []

    def look(module: Any, args: tuple[Any, ...], settings: dict[str, Any]) -> None:
        mask = settings.get("attention_mask")
        # What plays here reads one row at a time and pads nothing.
        if mask is None:
            return
        padded.append(bool((mask[:, 0] == 0).any()))
        for positions, seen in zip(settings["position_ids"], mask.bool(), strict=True):
            assert positions[seen].tolist() == list(range(int(seen.sum())))

    whole: Any = trainer.policy
    inner = (whole.get_base_model() if lora else whole).model
    inner.register_forward_pre_hook(look, with_kwargs=True)
    trainer.train()
    assert any(padded)


def test_parts_of_the_reward_that_belong_to_one_task_are_no_metrics(tmp_path: Path) -> None:
    def change(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(record, reward_parts={"exact": 1.0, f"goal/1. of {record.task}": 1.0})

    trainer = tiny.trainer(tmp_path, part=part(), change=change)
    trainer.train()
    names = {name for log in trainer.state.log_history for name in log}
    assert {name for name in names if name.startswith("reward/")} == {"reward/exact"}


def test_a_batch_of_dead_groups_changes_no_weight_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(record, reward=1.0) if record.policy_version == 2 else record

    # The optimiser has momentum after two steps: a gradient of zero would still move weights.
    alive = tiny.trainer(tmp_path / "a", part=part(steps=2), change=change)
    alive.train()
    caplog.set_level(logging.WARNING, "agentworld_trainers")
    dead = tiny.trainer(tmp_path / "b", part=part(steps=4), change=change)
    dead.train()
    assert unequal(weights(alive), weights(dead)) == []
    assert "step 3: nothing to learn from in this rollout batch" in caplog.text
    assert [log["groups/live"] for log in dead.state.log_history if "groups/live" in log] == [1, 0]


def test_a_dead_group_takes_no_row_of_a_mini_batch(tmp_path: Path) -> None:
    dead = task_order(tiny.TASKS, 2, 0)[1]

    def change(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(record, reward=0.5) if record.task == dead else record

    trainer = tiny.trainer(tmp_path, part=part(steps=1), change=change)
    trainer.train()
    inner: Any = trainer
    rows = inner._buffered_inputs
    assert [len(micro["policy_mask"]) for micro in rows] == [1, 1, 1, 1]
    assert [float(micro["policy_rows"]) for micro in rows] == [2, 2, 2, 2]


def test_when_no_rollout_could_be_played_training_stops(tmp_path: Path) -> None:
    def change(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(
            record, reward=None, stop_reason="env_error", error="connection refused"
        )

    with pytest.raises(RolloutFailed) as error:
        tiny.trainer(tmp_path, change=change).train()
    assert str(error.value) == (
        "none of the 8 rollouts for step 1 could be played; the first: connection refused. There is no"
        " checkpoint before it."
    )


def test_rollouts_of_a_sampler_with_other_weights_are_left_out_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(record: RolloutRecord) -> RolloutRecord:
        if record.index != 1:
            return record
        off = tuple(
            value - 0.1 if own else 0.0
            for value, own in zip(record.logprobs, record.loss_mask, strict=True)
        )
        return tiny.changed(record, logprobs=off)

    caplog.set_level(logging.WARNING, "agentworld_trainers")
    trainer = tiny.trainer(tmp_path, part=part(steps=1), change=change)
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["mismatch/left_out"] == 0.25
    assert log["mismatch/mean"] == pytest.approx(0.025, abs=1e-5)
    assert (
        "2 of 8 rollouts are left out: sampler and trainer differ by more than 0.02" in caplog.text
    )


@pytest.mark.filterwarnings("ignore::agentworld_trainers.gspo.PaperDeparture")
def test_the_loss_on_environment_tokens_makes_the_environment_more_likely(tmp_path: Path) -> None:
    def change(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(record, reward=1.0)

    settings: dict[str, Any] = {**part(steps=2).model_dump(), "prediction_loss": 0.5}
    agent = AgentPart(**settings)
    # Every group is dead: all that is learned is what the environment says.
    trainer = tiny.trainer(tmp_path, part=agent, change=change)
    before = tiny.model()
    trainer.train()
    record = tiny.rollout(task_order(tiny.TASKS, 2, 0)[0], 0, 0, before)
    was = tiny.logprobs(before, record.prompt_ids, record.response_ids)
    now = tiny.logprobs(trainer.policy, record.prompt_ids, record.response_ids)
    environment = [t for t, own in enumerate(record.loss_mask) if not own]
    assert sum(now[t] for t in environment) > sum(was[t] for t in environment)
    # Before the first step: minus the mean over rows of the mean log-probability of their tokens.
    rows = [
        tiny.rollout(name, index, 0, before)
        for name in task_order(tiny.TASKS, 2, 0)
        for index in range(4)
    ]
    losses = {
        (row.task, row.index): -sum(
            value
            for value, own in zip(
                tiny.logprobs(before, row.prompt_ids, row.response_ids), row.loss_mask, strict=True
            )
            if not own
        )
        / row.loss_mask.count(0)
        for row in rows
    }
    first = trainer.state.log_history[0]["prediction_loss"]
    assert min(losses.values()) < first < max(losses.values())
    assert trainer.state.log_history[0]["loss"] == pytest.approx(0.5 * first, rel=1e-5)


def test_one_credit_for_all_turns_is_the_sequence_form(tmp_path: Path) -> None:
    def credit(record: RolloutRecord, advantage: float) -> list[float]:
        return [advantage] * len(record.turn_spans)

    sequence = tiny.trainer(tmp_path / "a", part=part())
    token = tiny.trainer(tmp_path / "b", part=part(form="token"), turn_credit=credit)
    sequence.train()
    token.train()
    for name, value in weights(sequence).items():
        torch.testing.assert_close(weights(token)[name], value, atol=1e-5, rtol=0)


def test_a_turn_without_credit_gets_no_gradient(tmp_path: Path) -> None:
    def credit(record: RolloutRecord, advantage: float) -> list[float]:
        return [advantage, 0.0]

    trainer = tiny.trainer(tmp_path, part=part(steps=1, form="token"), turn_credit=credit)
    trainer.train()
    inner: Any = trainer
    rows = inner._buffered_inputs
    for micro in rows:
        for advantages, mask in zip(micro["advantages"], micro["policy_mask"], strict=True):
            first_gap = int((mask == 0).nonzero()[0])
            assert advantages[:first_gap].unique().numel() == 1
            assert not advantages[first_gap:].any()


def test_credit_per_turn_needs_the_token_form(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="advantages per turn need the token form"):
        tiny.trainer(tmp_path, turn_credit=lambda record, advantage: [advantage])


@pytest.mark.parametrize(
    ("changes", "settings", "words"),
    [
        ({"mini_batches": 1, "micro_batch_size": 4}, {}, "the ratio is always 1"),
        ({"epsilon_low": 0.2, "epsilon_high": 0.2}, {}, "the paper clips at"),
        ({}, {"num_iterations": 2}, "goes through a rollout batch once"),
        ({}, {"scale_rewards": "none"}, "divides advantages by"),
        ({}, {"router_aux_loss_coef": 0.001}, "a load-balancing loss of the experts is added"),
        ({}, {"router_aux_loss_coef": None}, "a load-balancing loss of the experts is added"),
    ],
)
def test_a_setting_that_leaves_the_paper_is_warned_about(
    tmp_path: Path, changes: dict[str, Any], settings: dict[str, Any], words: str
) -> None:
    with pytest.warns(PaperDeparture, match=words):
        tiny.trainer(tmp_path, part=part(**changes), **settings)


@pytest.mark.filterwarnings("ignore::agentworld_trainers.gspo.PaperDeparture")
def test_with_one_mini_batch_the_ratio_is_one(tmp_path: Path) -> None:
    trainer = tiny.trainer(tmp_path, part=part(mini_batches=1))
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["ratio/mean"] == pytest.approx(1, abs=1e-6)
    assert log["clip_ratio/region_mean"] == 0
    assert log["mismatch/mean"] < 1e-6


def test_records_that_are_not_what_was_asked_for_are_refused(tmp_path: Path) -> None:
    def other(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(record, task="another")

    def short(record: RolloutRecord) -> RolloutRecord:
        return tiny.changed(record, loss_mask=record.loss_mask[:-1])

    with pytest.raises(
        UsageError, match="one record per name is needed, in the order of the names"
    ):
        tiny.trainer(tmp_path, change=other).train()
    with pytest.raises(UsageError, match=r"response tokens, \d+ mask values and \d+ log-prob"):
        tiny.trainer(tmp_path, change=short).train()


def test_wrong_settings_are_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'save_step'. Did you mean 'save_steps'\?"):
        gspo_config(part(), tmp_path, save_step=3)
    with pytest.raises(UsageError, match=r"beta=0.1 would change nothing here: .* can beta=0.0"):
        gspo_config(part(), tmp_path, beta=0.1)
    with pytest.raises(UsageError, match=r"scale_rewards='batch' would .*'group' or 'none'"):
        gspo_config(part(), tmp_path, scale_rewards="batch")
    with pytest.raises(UsageError, match="there are no tasks"):
        config = gspo_config(part(), tmp_path)
        GspoTrainer(tiny.model(), tiny.tokenizer(), config, (), lambda names, step: [])


def test_several_processes_need_whole_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(UsageError, match=r"no multiple of micro_batch_size 2 x 3 process"):
        gspo_config(part(), tmp_path)
    with pytest.raises(UsageError, match="3 processes cannot share that evenly"):
        gspo_config(part(group_size=6, micro_batch_size=1), tmp_path)
