"""Models made on the spot."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from transformers import (
    Qwen3_5MoeForCausalLM,
    Qwen3_5MoeTextConfig,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

VOCABULARY = 512

_SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": True,
}
_EXPERTS: dict[str, Any] = {
    "moe_intermediate_size": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}


@lru_cache(maxsize=4)
def tiny(kind: str = "qwen3", *, attention: str = "sdpa") -> Any:
    """A model with random weights, far enough from uniform that mistakes show."""
    torch.manual_seed(0)
    more: dict[str, Any] = {"attn_implementation": attention}
    if kind == "qwen3":
        model: Any = Qwen3ForCausalLM(Qwen3Config(**_SHAPE, intermediate_size=128, **more))
    elif kind == "qwen3_moe":
        model = Qwen3MoeForCausalLM(
            Qwen3MoeConfig(**_SHAPE, **_EXPERTS, norm_topk_prob=True, **more)
        )
    else:
        linear: dict[str, Any] = {
            "linear_key_head_dim": 16,
            "linear_value_head_dim": 16,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 4,
            "layer_types": ["linear_attention", "full_attention"],
            "shared_expert_intermediate_size": 32,
        }
        model = Qwen3_5MoeForCausalLM(Qwen3_5MoeTextConfig(**_SHAPE, **_EXPERTS, **linear, **more))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(5)
    return model
