"""A tokenizer and a model made on the spot, and rows to train them on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

from agentworld_sim.scoring import PredictionSample
from agentworld_trainers.data._rows import Demonstration, Document, write_rows
from agentworld_trainers.recipes import Recipe

TEMPLATES = {
    "tiny_chat": Path(__file__).parents[2] / "vllm" / "tiny_chat.jinja",
    **{
        name: Path(trl.__file__).parent / "chat_templates" / f"{name}.jinja"
        for name in ("qwen3", "qwen3_5_think", "qwen3_5_nothink")
    },
}

CONFIG: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "moe_intermediate_size": 16,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
    "tie_word_embeddings": True,
}


@cache
def _bytes() -> str:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    corpus = ["**Environment Observation:**\n", "### Turn 1\n**Action:**\n", "ls -la /srv/data\n"]
    trainer = BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(corpus, trainer)
    return made.to_str()


def tokenizer(template: str = "qwen3") -> Any:
    """A tokenizer of bytes with a chat template; transformers does not declare all that it has."""
    made = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_bytes()),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
    )
    made.add_tokens(["<think>", "</think>"])
    made.chat_template = TEMPLATES[template].read_text("utf-8")
    return made


def sample(number: int, thinking: str = "", observation: str | None = None) -> PredictionSample:
    return PredictionSample(
        id=f"t{number}/1",
        task=f"task-{number % 4}",
        trajectory=f"t{number}",
        turn=1,
        domain="swe",
        messages=(
            {"role": "system", "content": "You are a shell."},
            {"role": "user", "content": f"### Turn 1\n**Action:**\necho {number}"},
        ),
        observation=f"{number}\n" * (1 + number % 5) if observation is None else observation,
        thinking=thinking,
    )


def document(number: int, keep: float = 0.5) -> Document:
    turns: list[Any] = [{"role": "system", "content": "You are a shell."}]
    for turn in (1, 2):
        turns += [
            {"role": "user", "content": f"### Turn {turn}\n**Action:**\necho {number}"},
            {"role": "assistant", "content": f"**Environment Observation:**\n{number} {turn}"},
        ]
    return Document(
        id=f"d{number}", task="t", domain="swe", messages=tuple(turns), keep=(1.0, keep)
    )


def demonstration(number: int) -> Demonstration:
    return Demonstration(
        id=f"a{number}",
        task="t",
        messages=(
            {"role": "user", "content": f"Count to {number}."},
            {"role": "assistant", "content": '<tool_call>\n{"name": "count"}\n</tool_call>'},
            {"role": "tool", "content": "counted"},
            {"role": "assistant", "content": "Done."},
        ),
    )


def recipe(output: Path, **parts: Any) -> Recipe:
    """A recipe for a tiny model, and data for it in its folder."""
    data = output / "data"
    if not data.exists():
        write_rows(data / "sft.jsonl", [sample(n, thinking="echo") for n in range(20)])
        write_rows(data / "cpt.jsonl", [document(n) for n in range(20)])
        write_rows(data / "eval.jsonl", [sample(n) for n in range(100, 108)])
        tokenizer().save_pretrained(data / "tokenizer")
    model = {"config": CONFIG, **parts.pop("model", {})}
    return Recipe.model_validate({"name": "tiny", "output": str(output), "model": model, **parts})
