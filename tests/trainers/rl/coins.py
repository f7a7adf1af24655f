"""A world of coins, small enough that a model learns it within seconds.

A model is first taught that a coin shows heads as often as tails, in the whole form of an answer. Then
the environment turns out to show heads always.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentworld_sim.errors import UsageError
from agentworld_sim.scoring import PredictionReward, PredictionSample, Reward
from agentworld_trainers.data import write_rows
from agentworld_trainers.recipes import Recipe
from agentworld_trainers.stages import Run, train_sft
from experiments.pocket.tokenizer import train_tokenizer

CONFIG: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "moe_intermediate_size": 32,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
    "tie_word_embeddings": True,
}
COINS, HELD_OUT = range(6), range(6, 9)
SIDES = ("heads", "tails", "tails")


def coin(number: int, side: str = "heads") -> PredictionSample:
    """One toss."""
    return PredictionSample(
        id=f"coin-{number}/{side}",
        task=f"coin-{number}",
        trajectory=f"coin-{number}",
        turn=1,
        domain="swe",
        messages=(
            {"role": "system", "content": "A shell."},
            {"role": "user", "content": f"### Turn 1\n**Action:**\nflip {number}"},
        ),
        observation=side,
    )


def taught(folder: Path) -> Path:
    """A model that writes the form, and either side: tails a little more often."""
    rows = [coin(number, side) for number in (*COINS, *HELD_OUT) for side in SIDES]
    texts = [message["content"] for row in rows for message in row.messages]
    write_rows(folder / "data" / "sft.jsonl", rows)
    tokenizer = train_tokenizer([*texts, *SIDES], vocabulary=330)
    tokenizer.save_pretrained(folder / "data" / "tokenizer")
    sft = {
        "steps": 100,
        "batch_size": 27,
        "learning_rate": 1e-2,
        "thinking": False,
        "threads": 1,
    }
    made = Recipe.model_validate(
        {"name": "taught", "output": str(folder), "model": {"config": CONFIG}, "sft": sft}
    )
    return train_sft(made, Run(made))


def recipe(start: Path, output: Path, **rl: Any) -> Recipe:
    """A recipe that begins with the taught model, and data for it in its folder."""
    if not (output / "data").exists():
        write_rows(output / "data" / "rl.jsonl", [coin(number) for number in COINS])
        write_rows(output / "data" / "eval.jsonl", [coin(number) for number in HELD_OUT])
    settings: dict[str, Any] = {
        "steps": 4,
        "group_size": 8,
        "groups_per_step": 3,
        "mini_batches": 2,
        "learning_rate": 2e-3,
        "max_grad_norm": 0.3,
        "threads": 1,
        "save_every": 2,
        "log_every": 1,
        "thinking": False,
        "rollouts": {"max_turn_tokens": 16, "max_rollout_tokens": 128, "in_flight": 24},
    }
    return Recipe.model_validate(
        {
            "name": "coins",
            "output": str(output),
            "model": {"path": str(start)},
            "rl": {**settings, **rl},
        }
    )


_LIMIT: list[int] = []


@contextmanager
def broken_after(count: int) -> Generator[None]:
    """While the block runs, `reward` works so many times."""
    _LIMIT.append(count)
    try:
        yield
    finally:
        _LIMIT.clear()


async def reward(sample: PredictionSample, text: str) -> Reward:
    """A user's own reward function: the rule's, as long as it works."""
    if _LIMIT:
        _LIMIT[0] -= 1
        if _LIMIT[0] < 0:
            raise UsageError("the reward's licence has run out")
    return PredictionReward().rule(sample, text)
