"""The loss: numbers worked by hand, the equation written out, and what must not change it."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch
from hypothesis import given, strategies as st
from torch import Tensor

from agentworld_trainers.gspo import (
    Form,
    departures,
    group_advantages,
    gspo_loss,
    prediction_loss,
    turn_advantages,
)

FORMS: tuple[Form, ...] = ("sequence", "token")


def batch(rows: int, length: int, seed: int, *, spread: float = 5e-4) -> dict[str, Tensor]:
    """Rows of several lengths with environment tokens between those of the policy, in float64."""
    generator = torch.Generator().manual_seed(seed)
    logp = -torch.rand(rows, length, generator=generator, dtype=torch.float64) * 3
    mask = (torch.rand(rows, length, generator=generator) < 0.7).long()
    lengths = torch.randint(2, length + 1, (rows,), generator=generator)
    mask[torch.arange(length) >= lengths[:, None]] = 0
    mask[:, 0] = 1
    noise = torch.randn(rows, length, generator=generator, dtype=torch.float64)
    return {
        "logp": logp,
        "old_logp": logp + spread * noise,
        "advantages": torch.randn(rows, generator=generator, dtype=torch.float64),
        "mask": mask,
    }


def loss_and_gradient(values: dict[str, Tensor], **settings: Any) -> tuple[Tensor, Tensor]:
    logp = values["logp"].clone().requires_grad_()
    out = gspo_loss(logp, values["old_logp"], values["advantages"], values["mask"], **settings)
    (gradient,) = torch.autograd.grad(out.loss, logp)
    return out.loss.detach(), gradient


def written_out(values: dict[str, Tensor], low: float, high: float) -> tuple[Tensor, Tensor]:
    """The token form as the paper writes it: sums are loops, sg is detach, nothing else is clever."""
    logp = values["logp"].clone().requires_grad_()
    old, a, mask = values["old_logp"], values["advantages"], values["mask"]
    terms: list[Tensor] = []
    for i in range(logp.shape[0]):
        tokens = [t for t in range(logp.shape[1]) if mask[i, t]]
        if not tokens:
            continue
        total = torch.zeros((), dtype=torch.float64)
        for t in tokens:
            total = total + (logp[i, t] - old[i, t])
        s_i = torch.exp(total / len(tokens))
        gain = torch.zeros((), dtype=torch.float64)
        for t in tokens:
            probability = torch.exp(logp[i, t])
            s_it = s_i.detach() * probability / probability.detach()
            clipped = torch.clip(s_it, 1 - low, 1 + high)
            gain = gain + torch.min(s_it * a[i, t], clipped * a[i, t])
        terms.append(gain / len(tokens))
    loss = -torch.stack(terms).mean()
    (gradient,) = torch.autograd.grad(loss, logp)
    return loss.detach(), gradient


def test_advantages_worked_by_hand() -> None:
    # Group 1: rewards 1, 0, 0, 1. Mean 1/2; each is 1/2 away; sample variance 4 * (1/4) / 3 = 1/3,
    # standard deviation 0.57735; advantages 0.5 / 0.57735 = 0.86603.
    # Group 2: the third failed. Of 2, 4, 6 the mean is 4 and the standard deviation 2: -1, 0, 1.
    # Group 3: all equal. Group 4: one of two has a reward, and nothing to be compared with.
    rewards = torch.tensor(
        [[1.0, 0, 0, 1], [2, 4, -100, 6], [3, 3, 3, 3], [5, math.nan, math.nan, math.nan]]
    )
    valid = torch.ones(4, 4, dtype=torch.bool)
    valid[1, 2] = False
    valid[3, 1:] = False

    advantages, live = group_advantages(rewards, valid)

    root = math.sqrt(3) / 2
    expected = torch.tensor([[root, -root, -root, root], [-1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    torch.testing.assert_close(advantages, expected)
    assert live.tolist() == [[True] * 4, [True, True, False, True], [False] * 4, [False] * 4]


def test_advantages_with_an_epsilon_and_without_division() -> None:
    rewards = torch.tensor([[2.0, 4.0, 6.0]])
    # (2 - 4) / (2 + 0.5) = -0.8
    torch.testing.assert_close(
        group_advantages(rewards, eps=0.5)[0], torch.tensor([[-0.8, 0.0, 0.8]])
    )
    torch.testing.assert_close(
        group_advantages(rewards, scale="none")[0], torch.tensor([[-2.0, 0.0, 2.0]])
    )


def test_sequence_form_worked_by_hand() -> None:
    # Row 1: policy tokens at 0 and 2, between them an environment token whose 5.0 must not count.
    #   mean of 0.0004 and 0.0008 = 0.0006; s = e^0.0006 = 1.00060018; A = 1; s > 1.0004, so the clip
    #   acts: gain 1.0004, no gradient.
    # Row 2: mean of three times -0.0002; s = e^-0.0002 = 0.99980002; A = -2; s > 0.9997: gain
    #   -1.99960004, gradient of the loss -(1/2) * (-2) * 0.99980002 / 3 = 0.33326667 per token.
    # Row 3 has no policy token and does not count.
    # Loss: -(1.0004 - 1.99960004) / 2 = 0.49960002.
    old = torch.full((3, 3), -1.0, dtype=torch.float64)
    change = torch.tensor([[4e-4, 5.0, 8e-4], [-2e-4] * 3, [1.0] * 3], dtype=torch.float64)
    logp = (old + change).requires_grad_()
    mask = torch.tensor([[1, 0, 1], [1, 1, 1], [0, 0, 0]])
    advantages = torch.tensor([1.0, -2.0, 7.0], dtype=torch.float64)

    out = gspo_loss(logp, old, advantages, mask)
    (gradient,) = torch.autograd.grad(out.loss, logp)

    assert out.loss.item() == pytest.approx(0.49960002, abs=1e-8)
    expected = torch.zeros(3, 3, dtype=torch.float64)
    expected[1] = 0.33326667
    torch.testing.assert_close(gradient, expected, atol=1e-8, rtol=0)
    assert out.ratio.tolist() == pytest.approx([1.00060018, 0.99980002, 1.0], abs=1e-8)
    assert out.clipped_high.tolist() == [1.0, 0.0, 0.0]
    assert out.clipped_low.tolist() == [0.0, 0.0, 0.0]
    assert out.live.tolist() == [True, True, False]


def test_token_form_with_advantages_per_turn_worked_by_hand() -> None:
    # One row, two turns of one token each. Changes 0.0010 and 0.0002: mean 0.0006, s = 1.00060018 for
    # both tokens. Turn 1: A = 3, clipped at 1.0004: 3.0012, no gradient. Turn 2: A = -1: min(-1.00060018,
    # -1.0004) = -1.00060018; gradient of the loss -(1/2) * (-1) * 1.00060018 = 0.50030009.
    # Loss: -(3.0012 - 1.00060018) / 2 = -1.00029991.
    old = torch.full((1, 2), -1.0, dtype=torch.float64)
    logp = (old + torch.tensor([[1e-3, 2e-4]], dtype=torch.float64)).requires_grad_()
    advantages = turn_advantages([[3.0, -1.0]], [[(0, 1), (1, 2)]], 2).double()

    out = gspo_loss(logp, old, advantages, torch.ones(1, 2), form="token")
    (gradient,) = torch.autograd.grad(out.loss, logp)

    assert out.loss.item() == pytest.approx(-1.00029991, abs=1e-8)
    assert gradient[0].tolist() == pytest.approx([0.0, 0.50030009], abs=1e-8)
    assert out.clipped_high.tolist() == [0.5]


def test_prediction_loss_worked_by_hand() -> None:
    # Row 1: tokens with -1 and -3, mean 2. Row 2: one token with -4. Row 3 has none and does not count.
    logp = torch.tensor([[-1.0, -3.0, -9.0], [-4.0, 0.0, 0.0], [-1.0, -1.0, -1.0]])
    mask = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
    assert prediction_loss(logp, mask).item() == pytest.approx((2 + 4) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_token_form_is_the_equation_written_out(seed: int) -> None:
    values = batch(6, 9, seed)
    generator = torch.Generator().manual_seed(seed)
    values["advantages"] = torch.randn(6, 9, generator=generator, dtype=torch.float64)
    loss, gradient = loss_and_gradient(values, form="token")
    expected, expected_gradient = written_out(values, 3e-4, 4e-4)
    torch.testing.assert_close(loss, expected, atol=1e-14, rtol=0)
    torch.testing.assert_close(gradient, expected_gradient, atol=1e-14, rtol=0)


@given(seed=st.integers(0, 2**31), rows=st.integers(1, 6), length=st.integers(2, 12))
def test_the_two_forms_are_equal_when_advantages_are_constant(
    seed: int, rows: int, length: int
) -> None:
    values = batch(rows, length, seed)
    sequence = loss_and_gradient(values, form="sequence")
    torch.testing.assert_close(
        loss_and_gradient(values, form="token"), sequence, atol=1e-13, rtol=0
    )


@given(
    seed=st.integers(0, 2**31),
    left=st.integers(0, 4),
    right=st.integers(0, 4),
    junk=st.sampled_from([0.0, -1e9, math.nan, math.inf]),
    form=st.sampled_from(FORMS),
)
def test_padding_changes_nothing_whatever_stands_on_it(
    seed: int, left: int, right: int, junk: float, form: Form
) -> None:
    values = batch(4, 8, seed)
    padded = {
        name: torch.nn.functional.pad(value, (left, right), value=0 if name == "mask" else junk)
        if value.dim() == 2
        else value
        for name, value in values.items()
    }
    loss, gradient = loss_and_gradient(values, form=form)
    padded_loss, padded_gradient = loss_and_gradient(padded, form=form)
    torch.testing.assert_close(padded_loss, loss, atol=1e-14, rtol=0)
    inner = padded_gradient[:, left : left + 8]
    torch.testing.assert_close(inner, gradient, atol=1e-14, rtol=0)
    assert padded_gradient.count_nonzero() == inner.count_nonzero()


@given(seed=st.integers(0, 2**31), order=st.permutations(range(5)), form=st.sampled_from(FORMS))
def test_the_order_of_rows_does_not_matter(seed: int, order: list[int], form: Form) -> None:
    values = batch(5, 7, seed)
    shuffled = {name: value[order] for name, value in values.items()}
    loss, gradient = loss_and_gradient(values, form=form)
    shuffled_loss, shuffled_gradient = loss_and_gradient(shuffled, form=form)
    torch.testing.assert_close(shuffled_loss, loss, atol=1e-14, rtol=0)
    torch.testing.assert_close(shuffled_gradient, gradient[order], atol=1e-14, rtol=0)


@given(
    seed=st.integers(0, 2**31),
    cuts=st.sets(st.integers(1, 6), max_size=4),
    form=st.sampled_from(FORMS),
)
def test_micro_batches_of_any_sizes_add_up_to_the_whole(
    seed: int, cuts: set[int], form: Form
) -> None:
    values = batch(7, 9, seed)
    values["mask"][2] = 0
    loss, gradient = loss_and_gradient(values, form=form)
    edges = [0, *sorted(cuts), 7]
    parts = [
        loss_and_gradient(
            {name: value[begin:end] for name, value in values.items()}, form=form, normaliser=6.0
        )
        for begin, end in itertools.pairwise(edges)
    ]
    torch.testing.assert_close(
        torch.stack([part for part, _ in parts]).sum(), loss, atol=1e-14, rtol=0
    )
    torch.testing.assert_close(torch.cat([part for _, part in parts]), gradient, atol=1e-14, rtol=0)


@given(seed=st.integers(0, 2**31), form=st.sampled_from(FORMS))
def test_dead_and_failed_rows_change_nothing(seed: int, form: Form) -> None:
    values = batch(4, 6, seed)
    dead = batch(3, 6, seed + 1)
    dead["mask"][:] = 0
    both = {name: torch.cat([value, dead[name]]) for name, value in values.items()}
    loss, gradient = loss_and_gradient(values, form=form)
    both_loss, both_gradient = loss_and_gradient(both, form=form)
    torch.testing.assert_close(both_loss, loss, atol=1e-14, rtol=0)
    torch.testing.assert_close(both_gradient[:4], gradient, atol=1e-14, rtol=0)
    assert not both_gradient[4:].any()


@given(
    rewards=st.lists(st.integers(-5, 5), min_size=4, max_size=4),
    failed=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_a_failed_rollout_leaves_the_others_as_if_it_had_not_been(
    rewards: list[int], failed: list[bool]
) -> None:
    valid = ~torch.tensor([failed])
    advantages, live = group_advantages(torch.tensor([rewards]).float(), valid)
    left = torch.tensor([[r for r, f in zip(rewards, failed, strict=True) if not f]]).float()
    if left.numel():
        alone, alone_live = group_advantages(left)
        torch.testing.assert_close(advantages[valid], alone[0])
        assert live[valid].tolist() == alone_live[0].tolist()
    assert not live[~valid].any() and not advantages[~valid].any()


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=2, max_size=8))
def test_live_advantages_have_mean_zero_and_deviation_one(rewards: list[float]) -> None:
    advantages, live = group_advantages(torch.tensor([rewards]))
    if live.any():
        assert advantages.mean().item() == pytest.approx(0, abs=1e-5)
        assert advantages.std().item() == pytest.approx(1, abs=1e-4)


def test_the_sequence_form_refuses_advantages_per_token() -> None:
    values = batch(2, 3, 0)
    with pytest.raises(ValueError, match="Use form='token' for advantages per turn"):
        gspo_loss(values["logp"], values["old_logp"], torch.ones(2, 3), values["mask"])


def test_settings_of_the_paper_are_no_departure() -> None:
    assert departures() == ()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mini_batches": 1}, "the ratio is always 1 and the clip never acts"),
        ({"iterations": 2}, "goes through a rollout batch once"),
        ({"epsilon_low": 0.2}, "epsilon_low=0.2, epsilon_high=0.0004: the paper clips at 0.0003"),
        ({"kl": 0.1}, "written without a KL term"),
        ({"ratio": "token"}, "ratio is that of the whole sequence"),
        ({"aggregation": "dapo"}, "every sequence weighs the same"),
        ({"scale": "none"}, "divides advantages by the group's standard deviation"),
        ({"advantage_eps": 1e-4}, "advantage_eps=0.0001: the paper divides advantages by the stan"),
        ({"router_loss": 0.001}, "load-balancing loss of the experts is added"),
        ({"environment_loss": 0.05}, "arXiv 2605.24517"),
    ],
)
def test_each_departure_is_said(settings: dict[str, Any], words: str) -> None:
    (sentence,) = departures(**settings)
    assert words in sentence
