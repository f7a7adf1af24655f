"""From rollouts to the rows of optimiser steps."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, get_args

import torch
from torch import Tensor

from agentworld_sim.errors import UsageError
from agentworld_sim.rollouts import RolloutRecord, StopReason

Rows = dict[str, Tensor]
"""Tensors of some rows [B, …], and scalars that belong to all of them."""


def task_order(tasks: Sequence[str], count: int, seed: int) -> list[str]:
    """The first `count` tasks to be played: every task once in a random order, then all again.

    Longer orders begin with shorter ones, so that training can be taken up again and prolonged.
    """
    order: list[str] = []
    for epoch in range(-(-count // len(tasks))):
        names = list(tasks)
        random.Random(f"{seed} {epoch}").shuffle(names)
        order += names
    return order[:count]


def check_records(records: Sequence[RolloutRecord], names: Sequence[str]) -> list[RolloutRecord]:
    """Raises `UsageError` when these are no rollouts of the tasks that were asked for, in order."""
    if [record.task for record in records] != list(names):
        raise UsageError(
            f"`collect` was asked for {len(names)} rollouts of {sorted(set(names))[:3]} … and gave"
            f" {len(records)} of {sorted({record.task for record in records})[:3]} …: one record per"
            " name is needed, in the order of the names."
        )
    for record in records:
        length = len(record.response_ids)
        if len(record.loss_mask) != length or len(record.logprobs) != length:
            raise UsageError(
                f"rollout {record.index} of {record.task!r} has {length} response tokens,"
                f" {len(record.loss_mask)} mask values and {len(record.logprobs)} log-probabilities."
            )
    return list(records)


def for_trl(records: Sequence[RolloutRecord], pad_id: int) -> dict[str, list[list[Any]]]:
    """What TRL wants of a `rollout_func`."""
    rows: dict[str, list[list[Any]]] = {
        "prompt_ids": [],
        "completion_ids": [],
        "logprobs": [],
        "env_mask": [],
    }
    for record in records:
        # A rollout that failed at its start has no tokens, and TRL looks at the last one.
        empty = not record.response_ids
        rows["prompt_ids"].append(list(record.prompt_ids) or [pad_id])
        rows["completion_ids"].append([pad_id] if empty else list(record.response_ids))
        rows["logprobs"].append([0.0] if empty else list(record.logprobs))
        rows["env_mask"].append([0] if empty else list(record.loss_mask))
    return rows


def rollout_metrics(record: RolloutRecord) -> dict[str, float]:
    """What is counted of one rollout; means over a rollout batch are logged.

    Parts of the reward that belong to one task (`goal/…`) are left out: there would be as many metrics as
    there are goals of all tasks. They stand in the records.
    """
    return {
        **{
            f"stop/{reason}": float(record.stop_reason == reason) for reason in get_args(StopReason)
        },
        "rollouts/failed": float(record.reward is None),
        "rollouts/turns": float(len(record.turn_spans)),
        **{
            f"reward/{name}": value
            for name, value in record.reward_parts.items()
            if "/" not in name
        },
        **{f"environment/{name}": value for name, value in record.env_metrics.items()},
    }


def mean_difference(first: Tensor, second: Tensor, mask: Tensor) -> Tensor:
    """[B] The mean of `first - second` over a row's masked tokens; 0 where there are none."""
    mask = mask.bool()
    difference = torch.where(mask, first - second, 0.0)
    return difference.sum(-1) / mask.sum(-1).clamp(min=1)


def deal(batch: Rows, *, mini_batches: int, accumulation: int, seed: int) -> list[Rows]:
    """Deals the rows that something is learned from over micro-batches, as evenly as they go.

    Rows of dead groups and failed rollouts are left out. A micro-batch that would be empty gets one row
    that counts nowhere, because processes must make the same number of passes.

    Args:
        batch: Rows [B, …] with `policy_mask` and, for the loss on the environment, `environment_mask`.
        mini_batches: Optimiser steps.
        accumulation: Micro-batches per optimiser step.
        seed: Of the order.

    Returns:
        The micro-batches, those of the first optimiser step first.
    """
    useful = batch["policy_mask"].bool().any(-1)
    if "environment_mask" in batch:
        useful = useful | batch["environment_mask"].bool().any(-1)
    rows: list[int] = useful.nonzero()[:, 0].tolist()
    random.Random(seed).shuffle(rows)
    dealt: list[Rows] = []
    for mini in range(mini_batches):
        of_step = rows[mini::mini_batches]
        for micro in range(accumulation):
            dealt.append(_take(batch, of_step[micro::accumulation]))
    return dealt


def _take(batch: Rows, rows: list[int]) -> Rows:
    index = torch.tensor(rows or [0], device=batch["policy_mask"].device)
    taken = {name: value[index] for name, value in batch.items()}
    if not rows:
        for name in ("policy_mask", "environment_mask"):
            if name in taken:
                taken[name] = torch.zeros_like(taken[name])
    # The longest row of a rollout batch is padding for all others.
    prompt = int(taken["prompt_mask"].sum(-1).max())
    completion = max(1, int(taken["completion_mask"].sum(-1).max()))
    for name, value in taken.items():
        if value.dim() == 2:
            taken[name] = value[:, -prompt:] if name.startswith("prompt") else value[:, :completion]
    return taken
