"""An optimiser step of GSPO, ours beside TRL's own, on the same batches in the same run.

Runs in the environment of the trainers: `.venv-train/bin/python -m benchmarks.gspo_step`.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models
from torch import Tensor
from transformers import PreTrainedTokenizerFast, Qwen3MoeConfig, Qwen3MoeForCausalLM
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from agentworld_trainers.gspo_trainer import GspoTrainer, gspo_config
from agentworld_trainers.gspo_trainer.batches import deal
from agentworld_trainers.recipes import Gspo
from benchmarks._rows import Row

VOCABULARY, ROWS, PROMPT, LENGTH = 2048, 16, 32, 32
REPEATS = 40
KILLS = 10
NOISE = 1.02
"""Two medians of the same code are apart by so much on a busy host."""

Batch = dict[str, Tensor]


def model() -> Qwen3MoeForCausalLM:
    """A Mixture-of-Experts model of 0.76 million weights; the same one each time."""
    torch.manual_seed(0)
    settings: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 128,
        "intermediate_size": 256,
        "moe_intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "norm_topk_prob": True,
        "tie_word_embeddings": True,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": None,
    }
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**settings)).float()


def tokenizer() -> PreTrainedTokenizerFast:
    words = {f"<{number}>": number for number in range(VOCABULARY)}
    kind = Tokenizer(models.WordLevel(words, unk_token="<2>"))
    return PreTrainedTokenizerFast(
        tokenizer_object=kind, pad_token="<0>", eos_token="<1>", unk_token="<2>"
    )


def ours(folder: Path) -> GspoTrainer:
    part = Gspo(group_size=8, groups_per_step=8, mini_batches=4)
    config = gspo_config(part, folder, use_cpu=True)
    return GspoTrainer(model(), tokenizer(), config, ("task",), lambda names, step: [])


def theirs(folder: Path) -> GRPOTrainer:
    config = GRPOConfig(
        output_dir=str(folder),
        importance_sampling_level="sequence",
        loss_type="grpo",
        beta=0.0,
        epsilon=3e-4,
        epsilon_high=4e-4,
        router_aux_loss_coef=0.0,
        num_generations=8,
        per_device_train_batch_size=ROWS,
        steps_per_generation=4,
        use_cpu=True,
        bf16=False,
        activation_checkpointing=False,
        report_to="none",
    )
    return GRPOTrainer(
        model=model(),
        args=config,
        reward_funcs=lambda completions, **more: [0.0] * len(completions),
        train_dataset=Dataset.from_dict({"prompt": ["task"] * 64}),
        processing_class=tokenizer(),
    )


def batch(trainer: Any, dead: int = 0) -> Batch:
    """Rows in TRL's form, padded, with environment tokens; the last `dead` have no advantage."""
    generator = torch.Generator().manual_seed(1)
    mask = torch.ones(ROWS, LENGTH, dtype=torch.long)
    for row in range(ROWS):
        mask[row, LENGTH // 2 + row % (LENGTH // 2) + 1 :] = 0
    tool_mask = torch.ones_like(mask)
    tool_mask[:, 6:10] = 0
    advantages = torch.randn(ROWS, generator=generator)
    advantages[ROWS - dead :] = 0
    rows: Batch = {
        "prompt_ids": torch.randint(3, VOCABULARY, (ROWS, PROMPT), generator=generator),
        "prompt_mask": torch.ones(ROWS, PROMPT, dtype=torch.long),
        "completion_ids": torch.randint(3, VOCABULARY, (ROWS, LENGTH), generator=generator),
        "completion_mask": mask,
        "tool_mask": tool_mask,
        "advantages": advantages,
    }
    with torch.no_grad():
        logp, _, _ = trainer._get_per_token_logps_and_entropies(
            trainer.model,
            torch.cat([rows["prompt_ids"], rows["completion_ids"]], 1),
            torch.cat([rows["prompt_mask"], mask], 1),
            LENGTH,
        )
    noise = torch.randn(ROWS, LENGTH, generator=generator)
    return {**rows, "old_per_token_logps": logp + 1.5e-3 * noise}


def in_our_form(rows: Batch, *, drop_dead: bool) -> Batch:
    mask = rows["completion_mask"] * rows["tool_mask"]
    if drop_dead:
        mask = mask * (rows["advantages"] != 0)[:, None]
    kept: Batch = {
        name: rows[name]
        for name in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "advantages")
    }
    kept |= {"policy_mask": mask, "old_logp": rows["old_per_token_logps"]}
    if drop_dead:
        (kept,) = deal(kept, mini_batches=1, accumulation=1, seed=0)
    live = kept["policy_mask"].any(-1).sum()
    return {**kept, "policy_rows": live.float(), "environment_rows": torch.tensor(0.0)}


def stepper(trainer: Any, rows: Batch) -> Callable[[], float]:
    """One optimiser step on the rows: forward, backward, clipping of the gradient, AdamW."""
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    # A learning rate of zero does all the work and keeps the batch the same for every repetition.
    optimiser = torch.optim.AdamW(trainer.model.parameters(), lr=0.0)

    def step() -> float:
        loss = trainer._compute_loss(trainer.model, rows)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        return loss.item()

    return step


def side_by_side(first: Callable[[], float], second: Callable[[], float]) -> tuple[float, float]:
    """Medians in milliseconds; one repetition of each in turn, so that both see the same host."""
    taken: tuple[list[float], list[float]] = ([], [])
    for repetition in range(REPEATS + 5):
        for times, action in zip(taken, (first, second), strict=True):
            start = time.perf_counter()
            action()
            if repetition >= 5:
                times.append(time.perf_counter() - start)
    return statistics.median(taken[0]) * 1000, statistics.median(taken[1]) * 1000


def gradient(trainer: Any, rows: Batch) -> tuple[float, Tensor]:
    trainer.current_gradient_accumulation_steps = 1
    trainer.model.train()
    trainer.model.zero_grad()
    loss = trainer._compute_loss(trainer.model, rows)
    loss.backward()
    return loss.item(), torch.cat([p.grad.flatten() for p in trainer.model.parameters()])


def steps() -> list[Row]:
    """Time and difference of a step."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        we, they = ours(Path(name) / "ours"), theirs(Path(name) / "theirs")
        rows, half_dead = batch(they), batch(they, dead=ROWS // 2)
        loss, grad = gradient(we, in_our_form(rows, drop_dead=False))
        their_loss, their_grad = gradient(they, rows)
        plain = side_by_side(stepper(we, in_our_form(rows, drop_dead=False)), stepper(they, rows))
        dead = side_by_side(
            stepper(we, in_our_form(half_dead, drop_dead=True)), stepper(they, half_dead)
        )
    apart = (grad - their_grad).abs().max().item()
    what = f"GSPO optimiser step, {ROWS} x {PROMPT + LENGTH} tokens, 0.76 M weights"
    found = [
        Row(
            title,
            mine,
            alternative="TRL's own",
            theirs=other,
            target="not slower",
            met=mine <= other * NOISE,
        )
        for title, (mine, other) in ((what, plain), (f"{what}, half of the groups dead", dead))
    ]
    for title, value in (
        ("GSPO loss, difference to TRL's", abs(loss - their_loss)),
        ("GSPO gradient, largest difference to TRL's", apart),
    ):
        found.append(Row(title, value, unit="", target="at most 1e-6", met=value <= 1e-6))
    return found


def kills() -> list[Row]:
    """Whether a training that is killed at random moments ends as one that is not."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.trainers.gspo.kills", str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout.splitlines()[-1])
    return [
        Row(
            f"final weights after {KILLS} kills, largest difference to an undisturbed training",
            report["largest_difference"],
            unit="",
            target="equal",
            met=report["equal"],
        )
    ]


def rows() -> list[Row]:
    """All figures of the optimiser's side."""
    return [*steps(), *kills()]


if __name__ == "__main__":
    from benchmarks.__main__ import table

    print(table(rows()))
