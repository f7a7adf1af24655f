"""Our loss beside TRL's own, on a real model: the same numbers, with environment tokens and padding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from trl.trainer.grpo_trainer import GRPOTrainer

from agentworld_trainers.gspo import Form, gspo_loss, turn_advantages
from agentworld_trainers.gspo_trainer import GspoTrainer
from tests.trainers.gspo import tiny

ROWS, PROMPT, LENGTH = 4, 6, 24


def inputs(trainer: GspoTrainer) -> dict[str, Tensor]:
    """What TRL's loss is given: prompts padded left, responses right, environment tokens in between."""
    generator = torch.Generator().manual_seed(0)
    prompt_ids = torch.randint(3, tiny.VOCABULARY, (ROWS, PROMPT), generator=generator)
    completion_ids = torch.randint(3, tiny.VOCABULARY, (ROWS, LENGTH), generator=generator)
    prompt_mask = torch.ones(ROWS, PROMPT, dtype=torch.long)
    prompt_mask[2, :3] = 0
    completion_mask = torch.ones(ROWS, LENGTH, dtype=torch.long)
    completion_mask[1, 15:] = 0
    completion_mask[3, 8:] = 0
    tool_mask = torch.ones(ROWS, LENGTH, dtype=torch.long)
    tool_mask[0, 6:12] = 0
    tool_mask[1, 3:5] = 0
    values = {
        "prompt_ids": prompt_ids,
        "prompt_mask": prompt_mask,
        "completion_ids": completion_ids,
        "completion_mask": completion_mask,
        "tool_mask": tool_mask,
        "advantages": torch.tensor([1.2, -0.7, 0.3, -0.8]),
    }
    with torch.no_grad():
        now = log_probabilities(trainer, values)
    noise = torch.randn(ROWS, LENGTH, generator=generator)
    # The mean over a row must be around the clip range, so that some rows are cut off and some are not.
    values["old_per_token_logps"] = now + 1.5e-3 * noise
    return values


def log_probabilities(trainer: GspoTrainer, values: dict[str, Tensor]) -> Tensor:
    """From whole logits, without TRL's chunks."""
    ids = torch.cat([values["prompt_ids"], values["completion_ids"]], 1)
    mask = torch.cat([values["prompt_mask"], values["completion_mask"]], 1)
    logits = trainer.policy(input_ids=ids, attention_mask=mask).logits[:, PROMPT - 1 : -1]
    logits = logits.float() / trainer.temperature
    return logits.log_softmax(-1).gather(2, values["completion_ids"][..., None])[..., 0]


def gradient(trainer: GspoTrainer, loss: Callable[[], Tensor]) -> tuple[float, Tensor]:
    trainer.policy.zero_grad()
    value = loss()
    value.backward()
    grads = [p.grad.flatten() for p in trainer.policy.parameters() if p.grad is not None]
    return value.item(), torch.cat(grads)


@pytest.fixture
def ready(tmp_path: Path) -> GspoTrainer:
    trainer = tiny.trainer(tmp_path)
    trainer.current_gradient_accumulation_steps = 1
    trainer.policy.train()
    return trainer


def of_trl(trainer: GspoTrainer, values: dict[str, Tensor]) -> tuple[float, Tensor]:
    """TRL's own code, with the settings that `gspo_config` gives it."""
    trl: Any = GRPOTrainer
    return gradient(trainer, lambda: trl._compute_loss(trainer, trainer.policy, values))


@pytest.mark.parametrize("form", ["sequence", "token"])
def test_loss_and_gradients_are_those_of_trl(ready: GspoTrainer, form: Form) -> None:
    values = inputs(ready)
    loss, expected = of_trl(ready, values)

    def ours() -> Tensor:
        return gspo_loss(
            log_probabilities(ready, values),
            values["old_per_token_logps"],
            values["advantages"],
            values["completion_mask"] * values["tool_mask"],
            form=form,
        ).loss

    our_loss, got = gradient(ready, ours)
    assert our_loss == pytest.approx(loss, abs=1e-6)
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=0)
    assert expected.abs().max() > 1e-3, "a gradient of zeros would prove nothing"


@pytest.mark.parametrize("form", ["sequence", "token"])
def test_the_trainer_computes_that_loss_and_cuts_off_the_same_rows(
    ready: GspoTrainer, form: Form
) -> None:
    ready.config.form = form
    values = inputs(ready)
    loss, expected = of_trl(ready, values)
    inner: Any = ready
    theirs = inner._metrics["train"]["clip_ratio/region_mean"][-1]
    rows = {
        **values,
        "old_logp": values["old_per_token_logps"],
        "policy_mask": values["completion_mask"] * values["tool_mask"],
        "policy_rows": torch.tensor(float(ROWS)),
        "environment_rows": torch.tensor(0.0),
    }
    our_loss, got = gradient(ready, lambda: inner._compute_loss(ready.policy, rows))
    assert our_loss == pytest.approx(loss, abs=1e-6)
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=0)
    assert 0 < theirs < 1, "some rows are to be cut off, and some are not"
    assert inner._metrics["train"]["clip_ratio/region_mean"][-1] == pytest.approx(theirs)


def test_advantages_per_turn_are_the_equation_written_out_on_a_real_model(
    ready: GspoTrainer,
) -> None:
    ready.config.form = "token"
    values = inputs(ready)
    mask = values["completion_mask"] * values["tool_mask"]
    spans = [[(0, 6), (12, 24)], [(0, 3), (5, 15)], [(0, 24)], [(0, 8)]]
    credit = [[2.0, -1.0], [-0.5, 0.5], [0.3], [-0.8]]
    advantages = turn_advantages(credit, spans, LENGTH)

    def written_out() -> Tensor:
        logp, old = log_probabilities(ready, values), values["old_per_token_logps"]
        terms: list[Tensor] = []
        for i in range(ROWS):
            own = [t for t in range(LENGTH) if mask[i, t]]
            s_i = torch.exp(sum((logp[i, t] - old[i, t] for t in own), torch.zeros(())) / len(own))
            gain = torch.zeros(())
            for (begin, end), a in zip(spans[i], credit[i], strict=True):
                for t in range(begin, end):
                    p = torch.exp(logp[i, t])
                    s_it = s_i.detach() * p / p.detach()
                    clipped = torch.clip(s_it, 1 - 3e-4, 1 + 4e-4)
                    gain = gain + torch.min(s_it * a, clipped * a)
            terms.append(gain / len(own))
        return -torch.stack(terms).mean()

    rows = {
        **values,
        "advantages": advantages,
        "old_logp": values["old_per_token_logps"],
        "policy_mask": mask,
        "policy_rows": torch.tensor(float(ROWS)),
        "environment_rows": torch.tensor(0.0),
    }
    inner: Any = ready
    # Turns of environment tokens stand between the spans: no advantage, and not in the mask.
    loss, expected = gradient(ready, written_out)
    our_loss, got = gradient(ready, lambda: inner._compute_loss(ready.policy, rows))
    assert our_loss == pytest.approx(loss, abs=1e-6)
    torch.testing.assert_close(got, expected, atol=1e-6, rtol=0)
