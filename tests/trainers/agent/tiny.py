"""An agent of some thousand weights, and what is needed to train it for two steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentworld_sim import World
from agentworld_sim.goals import check_goals
from agentworld_trainers.recipes import Recipe
from experiments.pocket.shell_tasks import shell_tasks
from experiments.pocket.tokenizer import train_tokenizer

SETTINGS: Mapping[str, int] = {"train": 6, "instances": 2, "templates": 1, "seed": 3}


def recipe(folder: Path, **agent: Any) -> Recipe:
    """Two rollout batches of two optimiser steps each, with a tokenizer in the folder."""
    texts = [task.instruction for task in shell_tasks({"train": 50}, 0)["train"]]
    tokenizer = train_tokenizer(texts, vocabulary=400)
    (folder / "data").mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder / "data" / "tokenizer")
    part: dict[str, Any] = {
        "tasks": "experiments.pocket:agent_tasks",
        "settings": dict(SETTINGS),
        "steps": 4,
        "mini_batches": 2,
        "group_size": 4,
        "groups_per_step": 2,
        "learning_rate": 1e-3,
        "save_every": 2,
        "log_every": 1,
        "thinking": False,
        "threads": 1,
        "rollouts": {"max_turns": 2, "max_turn_tokens": 12, "max_rollout_tokens": 200},
        **agent,
    }
    config = {
        "model_type": "qwen3_moe",
        "vocab_size": 400,
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "moe_intermediate_size": 16,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "tie_word_embeddings": True,
        "max_position_embeddings": 256,
    }
    return Recipe.model_validate(
        {"name": "tiny", "output": str(folder), "model": {"config": config}, "agent": part}
    )


async def words_of_reward(world: World) -> float:
    """A reward of a user's own: what the rollout changed, in goals that are met and in files."""
    met = [result.met for result in await check_goals(world)]
    return sum(met) / len(met) + len(str(world.ref)) % 7 + int(str(world.ref)[-1], 16) / 16


def broken(world: World) -> float:
    raise KeyError("missing")


def of_another_kind(settings: Mapping[str, Any], seed: int) -> list[int]:
    return [1]
