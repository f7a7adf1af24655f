"""GSPO: group sequence policy optimisation (arXiv 2507.18071), as functions of tensors.

For a group of G responses y_i to one prompt, with rewards r_i:

    A_i  = (r_i - mean(r)) / std(r)
    s_i  = exp( 1/|y_i| * sum_t [ log pi(y_it) - log pi_old(y_it) ] )
    J    = E[ 1/G * sum_i min( s_i * A_i, clip(s_i, 1 - eps_low, 1 + eps_high) * A_i ) ]

and the token form, for advantages A_it that differ within a response (sg: no gradient flows):

    s_it = sg[s_i] * pi(y_it) / sg[pi(y_it)]
    J    = E[ 1/G * sum_i 1/|y_i| * sum_t min( s_it * A_it, clip(s_it, ...) * A_it ) ]

Value and gradient of the two forms are equal when A_it = A_i. The loss is -J.

Where this file leaves the paper, or settles what the paper leaves open:

* Responses may hold text of an environment. |y_i| and every sum over t count the policy's own tokens
  only: `mask` is 1 on them, and 0 on environment tokens and padding.
* The mean over a batch is the mean over its live rows. A row without a single masked token takes no
  part: it adds nothing to the sum and does not count.
* Rollouts that have no reward because the infrastructure failed are left out of their group's mean and
  standard deviation and get no advantage.
* Groups whose rewards are all equal are dropped: the paper's formula divides zero by zero there.
* The standard deviation is that of a sample (divisor G - 1, as in TRL and verl; the paper does not say).
  `eps` is added to it if asked for; with `scale="none"` there is no division at all (Dr. GRPO,
  arXiv 2503.20783).
* Turns: in the token form A_it may differ from turn to turn (`turn_advantages`). The paper allows any
  A_it and gives no rule for them.
* The loss on environment tokens (`prediction_loss`; ECHO, arXiv 2605.24517) stands outside of J and is
  added to the loss with a weight of its own.
* There is no KL term; the paper leaves it out of its formulas.

Shapes: B rows (responses), T response positions, padded anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

EPSILON_LOW = 3e-4
EPSILON_HIGH = 4e-4
"""The paper's clip range. It is far narrower than that of token ratios, because s_i is a mean over tokens."""

SAME_REWARD = 1e-6
"""Rewards no further apart than this are equal: what separates them is rounding, not the policy."""

Form = Literal["sequence", "token"]
Scale = Literal["group", "none"]


@dataclass(frozen=True, slots=True)
class GspoLoss:
    """A loss, and what happened at the clip."""

    loss: Tensor
    """[] To be minimised."""
    ratio: Tensor
    """[B] s_i, without gradient; 1 for rows that take no part."""
    clipped_low: Tensor
    """[B] Share of the row's policy tokens whose gradient the lower bound cut off."""
    clipped_high: Tensor
    """[B] The same of the upper bound."""
    live: Tensor
    """[B] bool: rows that take part."""


def group_advantages(
    rewards: Tensor, valid: Tensor | None = None, *, scale: Scale = "group", eps: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Compares the rollouts of each group with each other.

    Args:
        rewards: [groups, G]. What stands where `valid` is false is not looked at.
        valid: [groups, G] bool: rollouts that have a reward. All by default.
        scale: `group` divides by the group's standard deviation, `none` does not.
        eps: Added to the standard deviation.

    Returns:
        Advantages [groups, G], zero where there is none; and which rollouts are live [groups, G], bool:
        they have a reward, and their group's rewards are not all equal.
    """
    if valid is None:
        valid = torch.ones_like(rewards, dtype=torch.bool)
    # Double precision: the mean of equal rewards must not differ from them by rounding.
    known = rewards.double().masked_fill(~valid, 0.0)
    count = valid.sum(-1, keepdim=True)
    centred = (known - known.sum(-1, keepdim=True) / count.clamp(min=1)).masked_fill(~valid, 0.0)
    highest = rewards.double().masked_fill(~valid, -torch.inf).amax(-1, keepdim=True)
    lowest = rewards.double().masked_fill(~valid, torch.inf).amin(-1, keepdim=True)
    live = valid & (count >= 2) & (highest - lowest > SAME_REWARD)
    if scale == "group":
        std = (centred.square().sum(-1, keepdim=True) / (count - 1).clamp(min=1)).sqrt()
        centred = centred / torch.where(live.any(-1, keepdim=True), std + eps, 1.0)
    return centred.masked_fill(~live, 0.0).float(), live


def turn_advantages(
    values: Sequence[Sequence[float]],
    spans: Sequence[Sequence[tuple[int, int]]],
    length: int,
) -> Tensor:
    """Lays one advantage per turn over the tokens of the turn.

    Args:
        values: For each row, one advantage per turn of the policy.
        spans: For each row and turn, where in the response it begins and ends (end excluded).
        length: T.

    Returns:
        [B, T], zero outside of the turns.
    """
    out = torch.zeros(len(values), length)
    for row, (row_values, row_spans) in enumerate(zip(values, spans, strict=True)):
        for value, (begin, end) in zip(row_values, row_spans, strict=True):
            out[row, begin:end] = value
    return out


def gspo_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    form: Form = "sequence",
    epsilon_low: float = EPSILON_LOW,
    epsilon_high: float = EPSILON_HIGH,
    normaliser: Tensor | float | None = None,
) -> GspoLoss:
    """The loss of some rows.

    Args:
        logp: [B, T] log pi(y_it), with gradient.
        old_logp: [B, T] log pi_old(y_it), without.
        advantages: [B], or [B, T] in the token form.
        mask: [B, T] 1 (or true) on the policy's own tokens.
        form: Which ratio.
        epsilon_low: How far below 1 a ratio may fall before a negative advantage stops pushing.
        epsilon_high: How far above 1 a ratio may rise before a positive one does.
        normaliser: What the sum over rows is divided by. By default the number of live rows. Where a
            step is made of several micro-batches, the live rows of the whole step; where gradients are
            averaged over processes, that number over all of them divided by how many they are.

    Raises:
        ValueError: advantages differ within a row in the sequence form, which has one ratio per row.
    """
    if form == "sequence" and advantages.dim() != 1:
        raise ValueError(
            f"the sequence form takes one advantage per row, and these have the shape"
            f" {tuple(advantages.shape)}. Use form='token' for advantages per turn."
        )
    mask = mask.bool()
    length = mask.sum(-1)  # [B] |y_i|
    live = length > 0
    # `where`, not a product: whatever stands on padding, even a NaN, must not reach a sum.
    log_ratio = torch.where(mask, logp - old_logp, 0.0)
    log_s = log_ratio.sum(-1) / length.clamp(min=1)  # [B]
    if form == "sequence":
        s = log_s.exp()[:, None]  # [B, 1]
        # One term per row: the mean over its tokens of the same number.
        share = live[:, None].to(logp.dtype)
    else:
        own = torch.where(mask, logp, 0.0)
        s = (log_s.detach()[:, None] + own - own.detach()).exp()  # [B, T]
        share = mask.to(logp.dtype) / length.clamp(min=1)[:, None]
    a = advantages[:, None] if advantages.dim() == 1 else advantages  # [B, 1] or [B, T]
    clipped = s.clamp(1 - epsilon_low, 1 + epsilon_high)
    gain = (torch.minimum(s * a, clipped * a) * share).sum(-1)  # [B]
    if normaliser is None:
        normaliser = live.sum().clamp(min=1)
    low = (s < 1 - epsilon_low) & (a < 0)
    high = (s > 1 + epsilon_high) & (a > 0)
    return GspoLoss(
        loss=-gain.sum() / normaliser,
        ratio=log_s.detach().exp(),
        clipped_low=(low * share).sum(-1).detach(),
        clipped_high=(high * share).sum(-1).detach(),
        live=live,
    )


def prediction_loss(
    logp: Tensor, environment_mask: Tensor, *, normaliser: Tensor | float | None = None
) -> Tensor:
    """Cross-entropy on what the environment said: mean over a row's tokens, then over rows (ECHO).

    Args:
        logp: [B, T] log-probabilities of the tokens that are there, with gradient.
        environment_mask: [B, T] 1 on tokens that the environment wrote.
        normaliser: As in `gspo_loss`, counting rows that have such tokens.
    """
    mask = environment_mask.bool()
    length = mask.sum(-1)
    per_row = -torch.where(mask, logp, 0.0).sum(-1) / length.clamp(min=1)
    return per_row.sum() / ((length > 0).sum().clamp(min=1) if normaliser is None else normaliser)


class PaperDeparture(UserWarning):
    """A setting leaves the published method. Training goes on; results are not those of GSPO."""


def departures(
    *,
    mini_batches: int = 4,
    iterations: int = 1,
    epsilon_low: float = EPSILON_LOW,
    epsilon_high: float = EPSILON_HIGH,
    kl: float = 0.0,
    ratio: str = "sequence",
    aggregation: str = "grpo",
    scale: str = "group",
    advantage_eps: float = 0.0,
    router_loss: float = 0.0,
    environment_loss: float = 0.0,
) -> tuple[str, ...]:
    """Says, one sentence each, where settings leave the paper.

    Args:
        mini_batches: Optimiser steps per rollout batch.
        iterations: How often a rollout batch is gone through.
        epsilon_low: Lower clip range.
        epsilon_high: Upper clip range.
        kl: Weight of a KL term.
        ratio: `sequence`, or something else.
        aggregation: TRL's name of how a loss per token becomes one number; `grpo` is the mean per row.
        scale: What advantages are divided by.
        advantage_eps: What is added to that.
        router_loss: Weight of a Mixture-of-Experts model's load-balancing loss.
        environment_loss: Weight of `prediction_loss`.
    """
    said: list[str] = []
    if mini_batches * iterations == 1:
        said.append(
            "mini_batches=1: the ratio is always 1 and the clip never acts; the paper splits a rollout"
            " batch in 4."
        )
    if iterations > 1:
        said.append(f"iterations={iterations}: the paper goes through a rollout batch once.")
    if (epsilon_low, epsilon_high) != (EPSILON_LOW, EPSILON_HIGH):
        said.append(
            f"epsilon_low={epsilon_low:g}, epsilon_high={epsilon_high:g}: the paper clips at"
            f" {EPSILON_LOW:g} and {EPSILON_HIGH:g}."
        )
    if kl:
        said.append(f"kl={kl:g}: the paper's objective is written without a KL term.")
    if ratio != "sequence":
        said.append(f"ratio={ratio!r}: the paper's ratio is that of the whole sequence.")
    if aggregation != "grpo":
        said.append(
            f"aggregation={aggregation!r}: long responses weigh more or less than short ones; in the"
            " paper every sequence weighs the same."
        )
    if scale != "group":
        said.append(
            f"scale={scale!r}: the paper divides advantages by the group's standard deviation."
        )
    if advantage_eps:
        said.append(
            f"advantage_eps={advantage_eps:g}: the paper divides advantages by the standard deviation"
            " alone."
        )
    if router_loss:
        said.append(
            f"router_loss={router_loss:g}: a load-balancing loss of the experts is added, which is no"
            " part of the paper's objective."
        )
    if environment_loss:
        said.append(
            f"environment_loss={environment_loss:g}: a loss on environment tokens is added"
            " (ECHO, arXiv 2605.24517)."
        )
    return tuple(said)
