"""A model, a tokenizer and rollouts, all made on the spot."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from agentworld_sim.rollouts import RolloutRecord
from agentworld_trainers.gspo_trainer import GspoTrainer, gspo_config
from agentworld_trainers.recipes.schema import Gspo

VOCABULARY = 64
TASKS = tuple(f"task-{number}" for number in range(6))


def tokenizer() -> PreTrainedTokenizerFast:
    """One token per number."""
    vocabulary = {f"<{number}>": number for number in range(VOCABULARY)}
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(vocabulary, unk_token="<2>")),
        pad_token="<0>",
        eos_token="<1>",
        unk_token="<2>",
    )


def model(seed: int = 0) -> Qwen3MoeForCausalLM:
    """A Mixture-of-Experts model of some thousand weights."""
    torch.manual_seed(seed)
    settings: dict[str, Any] = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 32,
        "moe_intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "norm_topk_prob": True,
        "tie_word_embeddings": True,
        "max_position_embeddings": 256,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": 1,
    }
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**settings)).float()


def logprobs(
    policy: PreTrainedModel, prompt: Sequence[int], response: Sequence[int]
) -> list[float]:
    """What the policy itself says, as a sampler would."""
    ids = torch.tensor([[*prompt, *response]])
    with torch.no_grad():
        logits = policy(ids).logits[0, len(prompt) - 1 : -1].float()
    chosen = logits.log_softmax(-1).gather(-1, torch.tensor(response)[:, None])[:, 0]
    return chosen.tolist()


def rollout(
    name: str, index: int, step: int, policy: PreTrainedModel, **changes: Any
) -> RolloutRecord:
    """Two turns of random tokens with an answer of the environment between them."""
    rng = random.Random(f"{name} {index} {step}")
    first, answer, second = rng.randint(1, 5), rng.randint(1, 4), rng.randint(1, 4)
    prompt = [rng.randint(3, VOCABULARY - 1) for _ in range(rng.randint(2, 6))]
    response = [rng.randint(3, VOCABULARY - 1) for _ in range(first + answer + second)]
    mask = [1] * first + [0] * answer + [1] * second
    said = logprobs(policy, prompt, response)
    fields: dict[str, Any] = {
        "task": name,
        "group": name,
        "index": index,
        "seed": 0,
        "prompt_ids": tuple(prompt),
        "response_ids": tuple(response),
        "loss_mask": tuple(mask),
        "logprobs": tuple(value if own else 0.0 for value, own in zip(said, mask, strict=True)),
        "turn_spans": ((0, first), (first + answer, len(response))),
        "reward": float(sum(token % 2 for token in response)),
        "stop_reason": "done",
        "policy_version": step,
    }
    return RolloutRecord(**{**fields, **changes})


Change = Callable[[RolloutRecord], RolloutRecord]


def trainer(
    folder: Path, *, part: Gspo | None = None, change: Change | None = None, **settings: Any
) -> GspoTrainer:
    """A trainer whose rollouts depend on the task, the step and the weights, and on nothing else."""
    policy = model()
    part = part or Gspo(
        steps=6, group_size=4, groups_per_step=2, mini_batches=2, micro_batch_size=2,
        learning_rate=1e-2, save_every=1, log_every=1,
    )  # fmt: skip
    arguments = {
        name: settings.pop(name)
        for name in ("turn_credit", "callbacks", "peft_config")
        if name in settings
    }

    def collect(names: list[str], step: int) -> list[RolloutRecord]:
        records = [
            rollout(name, number % part.group_size, step, policy)
            for number, name in enumerate(names)
        ]
        return [change(record) for record in records] if change else records

    made = GspoTrainer(
        policy, tokenizer(), gspo_config(part, folder, **settings), TASKS, collect, **arguments
    )
    return made


def changed(record: RolloutRecord, **changes: Any) -> RolloutRecord:
    """The same rollout with other fields."""
    return replace(record, **changes)
